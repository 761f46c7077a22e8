"""Studies of this project: what learning adds, what the lab is worth, what the module costs. Nothing imports them.

A folder per question: learning, lab, speed, nv, kernel_cost. leaderboard, documents and reference write pages.
"""

import env  # noqa: F401 - before any package that may be missing: env/command.py
