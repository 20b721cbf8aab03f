"""A pipeline of dlt: its rest_api source, into JSON lines in a folder."""

import os

import dlt
from dlt.sources.rest_api import rest_api_source

url, out, path = os.environ["RACE_URL"], os.environ["RACE_OUT"], os.environ.get("RACE_PATH", "flat")
size = int(os.environ.get("RACE_SIZE", "100"))
total = "total_pages" if os.environ.get("RACE_TOTAL") else None
number = {"type": "page_number", "base_page": 1, "page_param": "page", "total_path": total}
if path == "foreign":
    paginator, params = {"type": "json_link", "next_url_path": "next"}, {}
else:
    paginator, params = number, {"per_page": size}

resources = [{"name": path, "primary_key": "id", "endpoint": {"path": path, "params": params, "data_selector": "items"}}]
if os.environ.get("RACE_TREE"):
    resources = [
        {"name": "tickets", "primary_key": "id", "endpoint": {"path": "tickets", "params": {"per_page": 100}, "data_selector": "items"}},
        {
            "name": "details",
            "primary_key": "id",
            "parallelized": True,
            "endpoint": {"path": "tickets/{resources.tickets.id}", "data_selector": "$", "paginator": "single_page"},
        },
    ]
source = rest_api_source(
    {
        "client": {"base_url": url + "/", "paginator": paginator, "auth": {"type": "bearer", "token": "race-secret"}},
        "resources": resources,
    },
    max_table_nesting=0,
)
pipeline = dlt.pipeline(
    "race",
    destination=dlt.destinations.filesystem(bucket_url=out),
    dataset_name="race",
    pipelines_dir=out + "/pipelines",
)
pipeline.run(source, loader_file_format="jsonl", write_disposition="append")
