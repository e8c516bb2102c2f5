"""Files written after a run. A module of this folder that defines REPORTS adds one."""
