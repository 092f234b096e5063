"""Restricted decoding where free decoding gets nowhere (ours).

Far beyond the sizes of training, the free rollouts of most states may begin with a mistake; rollouts restricted to
applicable actions still get on. Where free rollouts do lead towards the goal they lead to shorter plans, because they
give up in bad states. So a search begins freely. After an attempt that got nowhere it restricts decoding; after a
restricted attempt without a plan it is free again; and it stays with the kind that brought the first plan.
"""

from dataclasses import dataclass

from oclgen.interfaces import Task

MOST_CHOICES = 256
"""Restricted decoding enumerates applicable actions: only where the initial state has at most this many."""


@dataclass(slots=True)
class DecodingTurns:
    """How rollouts are sampled at the moment: as the policy does by itself, or restricted to applicable actions."""

    restricted: bool = False

    def after_failure(self, task: Task, got_nowhere: bool) -> None:
        """An attempt brought no plan, and there is none."""
        if self.restricted:
            self.restricted = False
        elif got_nowhere:
            self.restricted = len(task.applicable(task.initial_state)) <= MOST_CHOICES
