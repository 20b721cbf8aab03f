"""A tap of the Singer SDK: pages by number, next links, and details of parents."""

import os

from singer_sdk import RESTStream, Tap
from singer_sdk import typing as th
from singer_sdk.authenticators import BearerTokenAuthenticator
from singer_sdk.pagination import BaseHATEOASPaginator, BasePageNumberPaginator

SCHEMA = th.PropertiesList(th.Property("id", th.IntegerType)).to_dict() | {"additionalProperties": True}
PATH = os.environ.get("RACE_PATH", "")
SIZE = int(os.environ.get("RACE_SIZE", "100"))


class Pages(BasePageNumberPaginator):
    def has_more(self, response):
        body = response.json()
        if os.environ.get("RACE_TOTAL"):
            return self.current_value < body["total_pages"]
        return bool(body["items"])


class Links(BaseHATEOASPaginator):
    def get_next_url(self, response):
        return response.json().get("next")


class Stream(RESTStream):
    url_base = os.environ["RACE_URL"]
    records_jsonpath = "$.items[*]"
    primary_keys = ["id"]
    schema = SCHEMA

    @property
    def authenticator(self):
        return BearerTokenAuthenticator(token="race-secret")

    def get_new_paginator(self):
        return Links() if PATH == "foreign" else Pages(1)

    def get_url_params(self, context, next_page_token):
        if PATH == "foreign":
            return {} if next_page_token is None else dict(p.split("=") for p in next_page_token.query.split("&"))
        return {"page": next_page_token or 1, "per_page": SIZE}


class List(Stream):
    name = PATH or "flat"
    path = "/" + (PATH or "flat")


class Tickets(Stream):
    name = "tickets"
    path = "/tickets"

    def get_child_context(self, record, context):
        return {"ticket": record["id"]}


class Details(Stream):
    name = "details"
    path = "/tickets/{ticket}"
    parent_stream_type = Tickets
    records_jsonpath = "$"
    state_partitioning_keys = []

    def get_new_paginator(self):
        return None

    def get_url_params(self, context, next_page_token):
        return {}


class RaceTap(Tap):
    name = "tap-race"
    config_jsonschema = th.PropertiesList().to_dict()

    def discover_streams(self):
        kinds = [Tickets, Details] if os.environ.get("RACE_TREE") else [List]
        return [kind(self) for kind in kinds]


if __name__ == "__main__":
    RaceTap.cli()
