// The page of `oclgen serve`: no libraries, no build. Top to bottom: talking to the server, the problem, the race of two
// jobs, the chart, the plan, the picture.
"use strict";

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const NAMES = { oclgen: "oclgen", lama: "LAMA", "lama-first": "LAMA-first", lmcut: "A* with LM-cut", bfs: "breadth-first search",
  mcts: "MCTS", "mcts-partial": "MCTS with partial rollouts", astar: "A* (learned)", gbfs: "GBFS (learned)", "best-of-n": "best of N" };
const AUTOMATIC = "best available"; // the planner chooses, and tells at the end
const named = (method) => (method ? NAMES[method] || method : AUTOMATIC);
const titled = (job) => (job.chosen && job.method ? `${AUTOMATIC}: ${named(job.method)}` : named(job.method));
const steps = (count) => `${count} step${count === 1 ? "" : "s"}`;

function element(name, attributes = {}, ...children) {
  const made = attributes.svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (key !== "svg") made.setAttribute(key, value);
  made.append(...children);
  return made;
}
const svg = (name, attributes = {}, ...children) => element(name, { ...attributes, svg: true }, ...children);

// ---- talking to the server

class Refusal extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

async function call(path, options = {}) {
  const token = sessionStorage.getItem("token");
  const headers = { ...(options.headers || {}), ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const response = await fetch(path, { ...options, headers });
  if (response.status === 401) {
    await askToken();
    return call(path, options);
  }
  if (response.ok) return response;
  let reason = `The server answered ${response.status}.`;
  try { reason = (await response.json()).detail || reason; } catch { /* not JSON: the status must do */ }
  throw new Refusal(response.status, reason);
}

const get = async (path) => (await call(path)).json();

function askToken() {
  if (!$("ask").open) $("ask").showModal();
  return new Promise((resolve) => $("ask").addEventListener("close", () => {
    sessionStorage.setItem("token", $("token").value);
    resolve();
  }, { once: true }));
}

async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
      if (fields.data) yield { name: fields.event, id: fields.id, data: JSON.parse(fields.data) };
    }
  }
}

// Follow a job to its end; a broken connection is taken up again where it broke.
async function follow(id, onEvent) {
  let last = "0";
  for (let failures = 0; failures < 20; ) {
    try {
      const response = await call(`/api/jobs/${id}/events`, { headers: { "Last-Event-ID": last } });
      for await (const event of eventsOf(response)) {
        failures = 0;
        last = event.id || last;
        onEvent(event);
        if (event.name === "end") return;
      }
    } catch (error) {
      if (error instanceof Refusal && error.status !== 429) throw error;
    }
    failures += 1;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  throw new Error("The server cannot be reached any more.");
}

// ---- the problem

async function showServer() {
  const server = await get("/api/server");
  $("server").textContent = `version ${server.version} · ${server.running} running, ${server.waiting} waiting`;
  $("seconds").max = server.longest_time_limit;
  $("seconds").value = server.time_limit;
  for (const [id, none] of [["method", AUTOMATIC], ["beside", "nothing"]]) {
    $(id).append(new Option(none, ""), ...server.methods.map((method) => new Option(named(method), method)));
  }
  $("beside").value = "lama";
  for (const name of server.examples) {
    const button = element("button", { type: "button", "aria-pressed": "false" }, name[0].toUpperCase() + name.slice(1));
    let number = 0;
    button.title = "Press again for another one";
    button.addEventListener("click", () => attempt(() => takeExample(button, name, number++ % 1000)));
    $("examples").append(button);
  }
}

async function takeExample(button, name, number) {
  const example = await get(`/api/examples/${name}?number=${number}`);
  for (const each of $("examples").children) each.setAttribute("aria-pressed", String(each === button));
  fill(example);
}

function fill({ domain, problem }) {
  $("domain").value = domain;
  $("problem").value = problem;
}

async function takeFiles(files, place) {
  for (const file of files) {
    const text = await file.text();
    const said = /\(\s*define\s*\(\s*(domain|problem)\b/i.exec(text);
    $(said ? said[1].toLowerCase() : place || "problem").value = text;
  }
}

async function attempt(what) {
  $("error").textContent = "";
  try {
    await what();
  } catch (error) {
    $("error").textContent = error.message;
  }
}

// ---- the race: one or two jobs side by side

let race = null;

class Runner {
  constructor(job, place) {
    this.job = job;
    this.place = place;
    this.plans = [];
    this.began = null;
    this.card = element("div", { class: `score ${place}` }, element("span", { class: "name" }), element("b"), element("span", { class: "state" }));
    this.update(job);
  }
  get best() { return this.plans.at(-1); }
  get ended() { return this.job.finished !== null; }
  get seconds() { // of search so far
    if (this.ended) return this.job.started === null ? 0 : this.job.finished - this.job.started;
    return this.began === null ? 0 : (performance.now() - this.began) / 1000;
  }
  update(job) {
    this.job = { ...job, plans: [] };
    if (job.status === "running" && this.began === null) this.began = performance.now();
    this.show();
  }
  found(plan) {
    if (this.best && plan.number <= this.best.number) return;
    this.plans.push(plan);
    this.show();
  }
  show() {
    this.card.querySelector(".name").textContent = titled(this.job);
    this.card.querySelector("b").textContent = this.best ? steps(this.best.length) : this.ended ? "no plan" : "…";
    this.card.querySelector(".state").textContent = this.state();
  }
  state() {
    const job = this.job;
    const after = this.best ? `found after ${this.best.seconds.toFixed(1)} s` : "";
    if (job.status === "queued") return `waiting, ${job.position} before it`;
    if (job.status === "running") return after || "searching";
    if (job.optimal) return `${after}, proved optimal`;
    return [after, job.status === "solved" && job.message.startsWith("The time") ? "" : job.message].filter(Boolean).join(". ");
  }
}

async function submit(method) {
  const body = { domain: $("domain").value, problem: $("problem").value, ...(method ? { method } : {}), time_limit: Number($("seconds").value) };
  const response = await call("/api/jobs", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  return response.json();
}

async function solve() {
  if (race) race.stopped = true;
  const jobs = [await submit($("method").value)];
  if ($("beside").value && $("beside").value !== $("method").value) {
    try { jobs.push(await submit($("beside").value)); } catch (error) { $("error").textContent = `Nothing runs beside it: ${error.message}`; }
  }
  const address = new URLSearchParams({ job: jobs[0].id, ...(jobs[1] ? { beside: jobs[1].id } : {}) });
  history.pushState(null, "", `?${address}`);
  await watch(jobs);
}

async function watch(jobs) {
  const mine = race = { runners: jobs.map((job, index) => new Runner(job, index ? "second" : "first")), stopped: false };
  $("scores").replaceChildren(...mine.runners.map((runner) => runner.card));
  for (const [id, hidden] of [["empty", true], ["shown", false], ["plan-section", true], ["cancel", false]]) $(id).hidden = hidden;
  if (window.innerWidth < 900) $("result").scrollIntoView({ behavior: "smooth" });
  const timer = setInterval(() => mine === race && drawChart(mine.runners), 200);
  try {
    await Promise.all(mine.runners.map((runner) => follow(runner.job.id, (event) => mine === race && hear(mine, runner, event))));
  } finally {
    clearInterval(timer);
    if (mine === race) finish(mine);
  }
}

function hear(mine, runner, event) {
  if (event.name === "plan") {
    runner.found(event.data);
    say(`${titled(runner.job)}: ${steps(event.data.length)} after ${event.data.seconds.toFixed(1)} seconds`);
    if (runner === mine.runners[0]) showPlan(event.data.actions);
  } else {
    runner.update(event.data);
    if (event.name === "end") say(`${titled(runner.job)} has ended. ${runner.card.querySelector("b").textContent}. ${event.data.message}`);
  }
  drawChart(mine.runners);
  fillTable(mine.runners);
}

function finish(mine) {
  $("cancel").hidden = true;
  drawChart(mine.runners);
  const winner = mine.runners[0].best ? mine.runners[0] : mine.runners[1];
  if (winner && winner.best) {
    showPlan(winner.best.actions);
    $("plan-title").textContent = `Plan${winner.job.method ? ` of ${named(winner.job.method)}` : ""}, ${steps(winner.best.length)}`;
    attempt(() => showPicture(winner.job.id));
  }
  const failed = mine.runners.find((runner) => runner.job.status === "failed");
  if (failed) $("error").textContent = failed.job.message;
}

function say(text) { $("live").textContent = text; }

function fillTable(runners) {
  $("table").replaceChildren(...runners.flatMap((runner) => runner.plans.map((plan) => element("tr", {},
    element("td", {}, titled(runner.job)), element("td", {}, plan.seconds.toFixed(2)), element("td", {}, String(plan.length))))));
}

// ---- the chart

const AREA = { left: 44, right: 530, top: 14, bottom: 332 };

function ticks(low, high, count) {
  const raw = Math.max(high - low, 1e-9) / count;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * unit >= raw) * unit;
  const first = Math.ceil(low / step) * step;
  return Array.from({ length: Math.floor((high - first) / step + 1e-9) + 1 }, (_, index) => first + index * step);
}

function drawChart(runners) {
  const lengths = runners.flatMap((runner) => runner.plans.map((plan) => plan.length));
  const high = lengths.length ? Math.max(...lengths) : 10;
  const low = lengths.length ? Math.min(...lengths) : 0;
  const pad = Math.max(1, (high - low) * 0.12);
  const range = [Math.max(0, Math.floor(low - pad)), Math.ceil(high + pad)];
  const span = Math.max(...runners.map((runner) => Math.max(runner.job.time_limit, runner.seconds)));
  const x = (seconds) => AREA.left + (AREA.right - AREA.left) * Math.min(1, seconds / span);
  const y = (length) => AREA.bottom - (AREA.bottom - AREA.top) * (length - range[0]) / (range[1] - range[0]);
  const lines = ticks(...range, 5).filter(Number.isInteger).flatMap((value) => [
    svg("line", { class: "grid", x1: AREA.left, x2: AREA.right, y1: y(value), y2: y(value) }),
    svg("text", { x: AREA.left - 8, y: y(value) + 4, "text-anchor": "end" }, String(value))]);
  const below = ticks(0, span, 6).map((value) => svg("text", { x: x(value), y: AREA.bottom + 18, "text-anchor": "middle" }, `${+value.toFixed(2)} s`));
  const title = svg("text", { x: AREA.left, y: AREA.bottom + 36 }, "steps of the best plan, against seconds");
  $("chart").replaceChildren(...lines, ...below, title, ...courses(runners, x, y));
  $("chart").setAttribute("aria-label", "Plan length over time. " + runners.map((runner) =>
    `${titled(runner.job)}: ${runner.plans.map((plan) => `${plan.length} after ${plan.seconds.toFixed(1)} s`).join(", ") || "no plan yet"}`).join(". "));
}

function courses(runners, x, y) {
  const labels = runners.filter((runner) => runner.best).map((runner) => ({ runner, at: y(runner.best.length) })).sort((a, b) => a.at - b.at);
  if (labels.length === 2 && labels[1].at - labels[0].at < 16) labels[0].at = (labels[1].at = (labels[0].at + labels[1].at) / 2 + 8) - 16;
  return labels.map(({ runner, at }) => {
    const points = runner.plans.map((plan) => [x(plan.seconds), y(plan.length)]);
    const path = points.map(([px, py], index) => (index ? `H${px}V${py}` : `M${px} ${py}`)).join("");
    const end = Math.max(points.at(-1)[0], x(runner.seconds));
    return svg("g", { class: runner.place }, svg("path", { class: "course", d: `${path}H${end}` }),
      ...points.map(([px, py]) => svg("circle", { class: "dot", cx: px, cy: py, r: 4.2 })),
      svg("text", { class: "name", x: AREA.right + 8, y: at + 4 }, `${named(runner.job.method)} ${runner.best.length}`));
  });
}

// ---- the plan

function showPlan(actions) {
  if (!actions) return;
  $("plan-section").hidden = false;
  $("plan-section").classList.add("plain");
  $("plan-title").textContent = `Plan, ${steps(actions.length)}`;
  $("picture").hidden = true;
  player.stop();
  player.frames = null;
  $("steps").replaceChildren(...actions.map((action) => element("li", {}, action.slice(1, -1))));
}

async function download() {
  const winner = race.runners.find((runner) => runner.best);
  const blob = await (await call(`/api/jobs/${winner.job.id}/plan`)).blob();
  const link = element("a", { href: URL.createObjectURL(blob), download: "sas_plan" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    $("linked").textContent = "Copied.";
  } catch {
    $("linked").textContent = location.href;
  }
}

// ---- the picture

const DRAW = {
  block: (shape) => [box(shape, 0.12), text(shape)],
  ghost: (shape) => [box(shape, 0.12), text(shape)],
  caption: (shape) => [text(shape)],
  exit: (shape) => [text(shape, 0.3)],
  box: (shape) => [box(shape, 0.06), svg("path", { d: "M.2 .2L.8 .8M.8 .2L.2 .8" })],
  target: () => [svg("circle", { cx: 0.5, cy: 0.5, r: 0.2 })],
  robot: () => [svg("circle", { cx: 0.5, cy: 0.5, r: 0.32 }), svg("circle", { class: "eye", cx: 0.4, cy: 0.43, r: 0.06 }), svg("circle", { class: "eye", cx: 0.6, cy: 0.43, r: 0.06 })],
  card: (shape) => [box(shape, 0.08), svg("path", { class: "walls", d: [...(shape.walls || "")].map((side) => ({ n: "M.1 .1H.9", s: "M.1 .9H.9", w: "M.1 .1V.9", e: "M.9 .1V.9" })[side]).join("") })],
  city: (shape) => [box(shape, 0.2), text(shape, 0.45)],
  place: (shape) => [box(shape, 0.12), text(shape, 0.36)],
  package: (shape) => [box(shape, 0.08), text(shape), ...(shape.kind.includes("home") ? [svg("path", { class: "tick", d: "M.66 .1l.12 .13l.2 -.27" })] : [])],
  truck: (shape) => [box(shape, 0.3), text(shape)],
  airplane: (shape) => [box(shape, 0.3), text(shape)],
};

function box(shape, round) {
  const width = shape.width ?? 1, height = shape.height ?? 1, margin = round ? 0.04 : 0;
  return svg("rect", { x: margin, y: margin, width: width - 2 * margin, height: height - 2 * margin, rx: round });
}

function text(shape, top) {
  return svg("text", { x: (shape.width ?? 1) / 2, y: top ?? (shape.height ?? 1) / 2 }, shape.label || "");
}

const player = {
  frames: null, at: 0, timer: null, groups: new Map(),

  load(picture) {
    this.frames = [picture.scene];
    for (const change of picture.steps) this.frames.push({ ...this.frames.at(-1), ...change });
    const [left, top, width, height] = picture.view;
    $("stage").setAttribute("viewBox", `${left - 0.2} ${top - 0.2} ${width + 0.4} ${height + 0.4}`);
    $("stage").replaceChildren();
    this.groups.clear();
    this.shown = {};
    $("at").max = picture.steps.length;
    this.go(0);
  },
  go(step) {
    this.at = Math.max(0, Math.min(step, this.frames.length - 1));
    for (const [id, shape] of Object.entries(this.frames[this.at])) if (this.shown[id] !== shape) this.place(id, shape);
    $("at").value = this.at;
    const items = $("steps").children, now = items[this.at - 1];
    for (const item of $("steps").querySelectorAll("[aria-current]")) item.removeAttribute("aria-current");
    const where = now ? `${this.at}. ${now.textContent}` : "before the first step";
    $("caption").textContent = where;
    $("at").setAttribute("aria-valuetext", where);
    if (now) {
      now.setAttribute("aria-current", "step");
      const list = $("steps");
      list.scrollTop = now.offsetTop - list.clientHeight / 2;
    }
  },
  place(id, shape) {
    const before = this.shown[id];
    this.shown[id] = shape;
    let group = this.groups.get(id);
    if (!group) this.groups.set(id, group = $("stage").appendChild(svg("g")));
    if (!before || before.kind !== shape.kind || before.label !== shape.label || before.width !== shape.width) {
      group.setAttribute("class", shape.kind);
      if (shape.hue !== undefined) group.style.setProperty("--hue", (shape.hue * 137.5 + 200) % 360);
      group.replaceChildren(...(DRAW[shape.kind.split(" ")[0]] || ((each) => [box(each, 0)]))(shape));
    }
    group.style.transform = `translate(${shape.x}px, ${shape.y}px)`;
  },
  play() {
    if (this.at >= this.frames.length - 1) this.go(0);
    const pace = Number($("speed").value);
    $("stage").style.setProperty("--pace", `${0.7 * pace}ms`);
    this.timer = setInterval(() => (this.at < this.frames.length - 1 ? this.go(this.at + 1) : this.stop()), pace);
    this.label();
  },
  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.label();
  },
  label() {
    $("play").textContent = this.timer ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", this.timer ? "Pause" : "Play");
  },
};

async function showPicture(id) {
  const mine = race;
  let picture;
  try {
    picture = await get(`/api/jobs/${id}/picture`);
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return; // this domain has no pictures
    throw error;
  }
  if (mine !== race) return;
  $("picture").hidden = false;
  $("plan-section").classList.remove("plain");
  player.load(picture);
}

// ---- begin

async function open() {
  const address = new URLSearchParams(location.search);
  const ids = ["job", "beside"].map((name) => address.get(name)).filter((id) => id && /^[0-9a-f]{32}$/.test(id));
  if (!ids.length) return;
  const jobs = await Promise.all(ids.map((id) => get(`/api/jobs/${id}`)));
  fill(await get(`/api/jobs/${ids[0]}/problem`));
  $("method").value = jobs[0].chosen ? "" : jobs[0].method;
  $("beside").value = jobs[1]?.method ?? "";
  $("seconds").value = jobs[0].time_limit;
  await watch(jobs);
}

function listen() {
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    $("solve").disabled = true;
    attempt(async () => {
      const watching = solve();
      setTimeout(() => ($("solve").disabled = false), 800);
      await watching;
    });
  });
  $("cancel").addEventListener("click", () => attempt(() => Promise.all(race.runners.map((runner) => call(`/api/jobs/${runner.job.id}`, { method: "DELETE" })))));
  for (const input of document.querySelectorAll("input[type=file]")) input.addEventListener("change", () => takeFiles(input.files, input.dataset.for));
  for (const name of ["dragenter", "dragover"]) document.addEventListener(name, (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
  document.addEventListener("dragleave", (event) => event.relatedTarget || document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    takeFiles(event.dataTransfer.files);
  });
  $("download").addEventListener("click", () => attempt(download));
  $("link").addEventListener("click", copyLink);
  $("play").addEventListener("click", () => (player.timer ? player.stop() : player.play()));
  $("speed").addEventListener("change", () => player.timer && (player.stop(), player.play()));
  $("at").addEventListener("input", () => { player.stop(); player.go(Number($("at").value)); });
  $("steps").addEventListener("click", (event) => {
    const item = event.target.closest("li");
    if (item && player.frames) { player.stop(); player.go([...$("steps").children].indexOf(item) + 1); }
  });
  window.addEventListener("popstate", () => location.reload());
}

listen();
attempt(async () => {
  await showServer();
  await open();
});
