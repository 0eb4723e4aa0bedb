"""Reads a TensorBoard event file with TensorBoard's own reader and prints the scalars as JSON.

python3 -m venv /tmp/tb && /tmp/tb/bin/pip install tensorboard
/tmp/tb/bin/python tests/it/read_events.py tests/it/golden/events.out.tfevents.golden > tests/it/golden/events.json
The committed events.json was made with tensorboard 2.21.0.
"""

import json
import sys

from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

rows = []
for event in LegacyEventFileLoader(sys.argv[1]).Load():
    if event.HasField("file_version"):
        rows.append({"file_version": event.file_version, "wall_time": event.wall_time})
    for value in event.summary.value:
        rows.append({"tag": value.tag, "step": event.step, "value": value.simple_value, "wall_time": event.wall_time})
json.dump(rows, sys.stdout, indent=1)
print()
