"""Random problems of nine of the ten domains, each solvable by the way it is made (Sokoban: `boards`).

Sizes are arguments; all else is uniform where nothing else is said. The domains are those of IPC 2023's learning track.
"""

import random
from itertools import pairwise

from benchmarks.ipc2023.problem_text import numbered, problem_text

Random = random.Random
TABLES = 3
"""Of Childsnack, beside the kitchen."""
MODES = ("colour", "high_res", "low_res")
"""Of Rovers' cameras."""


def spanner(rng: Random, spanners: int, nuts: int, locations: int) -> str:
    """A one-way path from the shed to the gate, where the nuts are; spanners lie along it, no fewer than nuts."""
    way = ["shed", *numbered("location", locations), "gate"]
    tools, loose = numbered("spanner", max(spanners, nuts)), numbered("nut", nuts)
    init = ["at bob shed", *(f"link {one} {other}" for one, other in pairwise(way))]
    init += [fact for tool in tools for fact in (f"at {tool} {rng.choice(way[1:-1])}", f"usable {tool}")]
    init += [fact for nut in loose for fact in (f"at {nut} gate", f"loose {nut}")]
    objects = {"man": ["bob"], "spanner": tools, "nut": loose, "location": way}
    return problem_text("spanner", "spanner", objects, init, (f"tightened {nut}" for nut in loose))


def childsnack(rng: Random, children: int, allergic: int, trays: int, sandwiches: int) -> str:
    """As much bread and filling as children, without gluten for those who need it."""
    people, tables = numbered("child", children), numbered("table", TABLES)
    bread, filling = numbered("bread", children), numbered("content", children)
    unwell = set(rng.sample(people, allergic))
    init = [f"at {tray} kitchen" for tray in numbered("tray", trays)]
    init += [f"at_kitchen_bread {each}" for each in bread] + [f"at_kitchen_content {each}" for each in filling]
    init += [f"no_gluten_bread {each}" for each in rng.sample(bread, allergic)]
    init += [f"no_gluten_content {each}" for each in rng.sample(filling, allergic)]
    init += [f"{'' if child in unwell else 'not_'}allergic_gluten {child}" for child in people]
    init += [f"waiting {child} {rng.choice(tables)}" for child in people]
    made = numbered("sandw", max(sandwiches, children))
    init += [f"notexist {each}" for each in made]
    objects = {
        "child": people,
        "tray": numbered("tray", trays),
        "sandwich": made,
        "bread-portion": bread,
        "content-portion": filling,
        "place": tables,
    }
    return problem_text("childsnack", "childsnack", objects, init, (f"served {child}" for child in people))


def ferry(rng: Random, cars: int, locations: int) -> str:
    """Every car has to go somewhere else."""
    names, places = numbered("car", cars), numbered("loc", locations)
    trips = [(car, *rng.sample(places, 2)) for car in names]
    init = ["empty-ferry", f"at-ferry {rng.choice(places)}", *(f"at {car} {start}" for car, start, _ in trips)]
    goal = (f"at {car} {end}" for car, _, end in trips)
    return problem_text("ferry", "ferry", {"car": names, "location": places}, init, goal)


def blocksworld(rng: Random, blocks: int) -> str:
    """Two arrangements of the blocks in random order: each block begins a tower or goes onto one, equally likely."""
    names = numbered("b", blocks)
    init, goal = towers(rng, names), towers(rng, names)
    return problem_text("blocksworld", "blocksworld", {"object": names}, ["arm-empty", *init], goal)


def towers(rng: Random, blocks: list[str]) -> list[str]:
    built: list[list[str]] = []
    for block in rng.sample(blocks, len(blocks)):
        place = rng.randrange(len(built) + 1)
        if place == len(built):
            built.append([])
        built[place].append(block)
    facts = [f"on {upper} {lower}" for tower in built for lower, upper in pairwise(tower)]
    return facts + [fact for tower in built for fact in (f"on-table {tower[0]}", f"clear {tower[-1]}")]


def miconic(rng: Random, passengers: int, floors: int) -> str:
    """Every passenger has to go to another floor."""
    people, levels = numbered("p", passengers), numbered("f", floors)
    init = [f"lift-at {rng.choice(levels)}"]
    for person in people:
        start, end = rng.sample(levels, 2)
        init += [f"origin {person} {start}", f"destin {person} {end}"]
    init += [f"above {low} {high}" for number, low in enumerate(levels) for high in levels[number + 1 :]]
    objects = {"passenger": people, "floor": levels}
    return problem_text("miconic", "miconic", objects, init, (f"served {person}" for person in people))


def floortile(rng: Random, rows: int, columns: int, robots: int) -> str:
    """A chessboard has to be painted on all rows but the lowest one, number 0."""
    tiles = {(row, column): f"tile_{row}_{column}" for row in range(rows + 1) for column in range(1, columns + 1)}
    machines, colours = numbered("robot", robots), ("white", "black")
    init = [f"available-color {colour}" for colour in colours]
    places = rng.sample(sorted(tiles), robots)
    for machine, place in zip(machines, places, strict=True):
        init += [f"robot-at {machine} {tiles[place]}", f"robot-has {machine} {rng.choice(colours)}"]
    init += [f"clear {tile}" for place, tile in tiles.items() if place not in places]
    for (row, column), tile in tiles.items():
        if (row + 1, column) in tiles:
            init += [f"up {tiles[row + 1, column]} {tile}", f"down {tile} {tiles[row + 1, column]}"]
        if (row, column + 1) in tiles:
            init += [f"right {tiles[row, column + 1]} {tile}", f"left {tile} {tiles[row, column + 1]}"]
    goal = (f"painted {tile} {colours[sum(place) % 2]}" for place, tile in tiles.items() if place[0])
    objects = {"tile": list(tiles.values()), "robot": machines, "color": colours}
    return problem_text("floortile", "floortile", objects, init, goal)


def transport(rng: Random, vehicles: int, packages: int, locations: int) -> str:
    """A connected road map with a random number of roads; vehicles take one or two packages."""
    places, trucks, parcels = numbered("l", locations), numbered("v", vehicles), numbered("p", packages)
    roads = connected(rng, places, rng.uniform(0.0, 1.0))
    init = ["capacity-predecessor c0 c1", "capacity-predecessor c1 c2"]
    init += [f"capacity {truck} {rng.choice(('c1', 'c2'))}" for truck in trucks]
    init += [f"at {truck} {rng.choice(places)}" for truck in trucks]
    trips = [(parcel, *rng.sample(places, 2)) for parcel in parcels]
    init += [f"at {parcel} {start}" for parcel, start, _ in trips]
    init += [f"road {one} {other}" for one, other in roads]
    objects = {"vehicle": trucks, "package": parcels, "location": places, "size": ("c0", "c1", "c2")}
    return problem_text("transport", "transport", objects, init, (f"at {parcel} {end}" for parcel, _, end in trips))


def connected(rng: Random, nodes: list[str], share: float) -> list[tuple[str, str]]:
    """A random tree and this share of all other pairs, each in both directions."""
    order = rng.sample(nodes, len(nodes))
    tree = {tuple(sorted((node, rng.choice(order[:number])))) for number, node in enumerate(order) if number}
    pairs = {(one, other) for one in nodes for other in nodes if one < other}
    rest = sorted(pairs - tree)
    chosen = sorted(tree) + rng.sample(rest, round(share * len(rest)))
    return [pair for one, other in chosen for pair in ((one, other), (other, one))]


def satellite(rng: Random, satellites: int, instruments: int, modes: int, directions: int) -> str:
    """Every satellite has an instrument, every mode is supported; half of the satellites have to point somewhere, and
    half of all images are asked for."""
    crafts, tools = numbered("sat", satellites), numbered("ins", max(instruments, satellites))
    kinds, skies = numbered("mod", modes), numbered("dir", directions)
    init = [fact for craft in crafts for fact in (f"pointing {craft} {rng.choice(skies)}", f"power_avail {craft}")]
    owners = crafts + [rng.choice(crafts) for _ in tools[satellites:]]
    init += [f"on_board {tool} {craft}" for tool, craft in zip(tools, owners, strict=True)]
    init += [f"calibration_target {tool} {rng.choice(skies)}" for tool in tools]
    supported = {(rng.choice(tools), kind) for kind in kinds} | {(tool, rng.choice(kinds)) for tool in tools}
    supported |= {(tool, kind) for tool in tools for kind in kinds if rng.random() < 0.5}
    init += [f"supports {tool} {kind}" for tool, kind in sorted(supported)]
    images = [f"have_image {sky} {kind}" for sky in skies for kind in kinds]
    goal = [f"pointing {craft} {rng.choice(skies)}" for craft in crafts if rng.random() < 0.5]
    goal += rng.sample(images, max(1, len(images) // 2))
    objects = {"satellite": crafts, "instrument": tools, "mode": kinds, "direction": skies}
    return problem_text("satellite", "satellite", objects, init, goal)


def rovers(rng: Random, rovers: int, waypoints: int, cameras: int, objectives: int) -> str:
    """Every rover can reach all waypoints; half of what can be sampled or seen has to be communicated."""
    machines, points = numbered("rover", rovers), numbered("waypoint", waypoints)
    lenses, targets = numbered("camera", max(cameras, 1)), numbered("objective", objectives)
    visible = connected(rng, points, 0.3)
    init = [f"at_lander general {rng.choice(points)}", *(f"visible {one} {other}" for one, other in visible)]
    for machine in machines:
        init += [f"at {machine} {rng.choice(points)}", f"empty {machine}store", f"store_of {machine}store {machine}"]
        init += [f"can_traverse {machine} {one} {other}" for one, other in visible]
    goal: list[str] = []
    for kind in ("soil", "rock"):
        able = [rng.choice(machines), *(machine for machine in machines if rng.random() < 0.5)]
        samples = rng.sample(points, max(1, waypoints // 2))
        init += [f"equipped_for_{kind}_analysis {machine}" for machine in sorted(set(able))]
        init += [f"at_{kind}_sample {point}" for point in samples]
        goal += [f"communicated_{kind}_data {point}" for point in samples if rng.random() < 0.5]
    seeing, wanted = imaging(rng, machines, points, lenses, targets)
    objects = {
        "lander": ("general",),
        "mode": MODES,
        "rover": machines,
        "store": [f"{machine}store" for machine in machines],
        "waypoint": points,
        "camera": lenses,
        "objective": targets,
    }
    return problem_text("rovers", "rover", objects, init + seeing, goal + wanted)


def imaging(
    rng: Random, machines: list[str], points: list[str], lenses: list[str], targets: list[str]
) -> tuple[list[str], list[str]]:
    """Cameras on rovers and what can be seen from where; and half of the images that can be taken, at least one."""
    owners = [rng.choice(machines) for _ in lenses]
    init = [f"equipped_for_imaging {machine}" for machine in sorted(set(owners))]
    supported: set[str] = set()
    for lens, owner in zip(lenses, owners, strict=True):
        modes = rng.sample(MODES, rng.randint(1, len(MODES)))
        supported.update(modes)
        init += [f"on_board {lens} {owner}", f"calibration_target {lens} {rng.choice(targets)}"]
        init += [f"supports {lens} {mode}" for mode in modes]
    for target in targets:
        init += [f"visible_from {target} {point}" for point in rng.sample(points, rng.randint(1, len(points) // 2))]
    images = [f"communicated_image_data {target} {mode}" for target in targets for mode in sorted(supported)]
    return init, rng.sample(images, max(1, len(images) // 2))
