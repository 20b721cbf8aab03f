"""A spider of Scrapy, with eight requests at once."""

import os

import scrapy

URL, PATH, SIZE = os.environ["RACE_URL"], os.environ.get("RACE_PATH", "flat"), os.environ.get("RACE_SIZE", "100")
TREE, TOTAL = os.environ.get("RACE_TREE"), os.environ.get("RACE_TOTAL")
HEADERS = {"Authorization": "Bearer race-secret"}


class Race(scrapy.Spider):
    name = "race"
    custom_settings = {
        "CONCURRENT_REQUESTS": 8,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": float(os.environ.get("RACE_DELAY", "0")),
        "RANDOMIZE_DOWNLOAD_DELAY": False,
        "AUTOTHROTTLE_ENABLED": bool(os.environ.get("RACE_AUTO")),
        "AUTOTHROTTLE_TARGET_CONCURRENCY": 8,
        "AUTOTHROTTLE_START_DELAY": 0.1,
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
    }

    async def start(self):
        path = "tickets" if TREE else PATH
        yield self.page(path, 1)

    def page(self, path, n):
        url = f"{URL}/{path}" if path == "foreign" else f"{URL}/{path}?page={n}&per_page={SIZE}"
        return scrapy.Request(url, headers=HEADERS, cb_kwargs={"path": path, "n": n}, priority=1)

    def parse(self, response, path, n):
        body = response.json()
        for item in body["items"]:
            if TREE:
                yield scrapy.Request(f"{URL}/tickets/{item['id']}", headers=HEADERS, callback=self.detail)
            yield {"stream": path, **item}
        if path == "foreign":
            if body.get("next"):
                yield scrapy.Request(body["next"], headers=HEADERS, cb_kwargs={"path": path, "n": n + 1})
        elif n < body["total_pages"] if TOTAL else body["items"]:
            yield self.page(path, n + 1)

    def detail(self, response):
        yield {"stream": "details", **response.json()}
