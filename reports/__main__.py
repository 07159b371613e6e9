"""python3 -I reports RUN_DIR [--out DIR]: as the coordinator starts it, with this folder and no other added."""

from reprobench_report.__main__ import main

raise SystemExit(main())
