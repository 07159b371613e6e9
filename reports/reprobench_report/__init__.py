"""Reports of a reprobench run: report.html, summary.md and checks.csv, from the files of a run directory alone.

Nothing here decides anything. Outcomes, statuses and sentences are those of verdict.json; a report only arranges them.
"""
