"""Reads the record of a member with one of two clients in Python: member.py NAME BASE.

Each line of the input is a JSON array: a method of the class NAME, and its arguments. The program prints a line with `result` or `error` for it.
https://github.com/smart-on-fhir/client-py, https://github.com/beda-software/fhir-py
"""

import importlib
import json
import sys
import urllib.parse


def parts_of(query):
    """Returns the path, and the parameters by name."""
    path, _, parameters = query.partition("?")
    return path, dict(urllib.parse.parse_qsl(parameters))


class fhirclient:
    """Client with a login. Its models reject elements that R4 lacks."""

    def __init__(self, base):
        self.base = base

    def authorize(self, app, redirect, scope):
        from fhirclient.client import FHIRClient

        settings = {"app_id": app, "api_base": self.base, "redirect_uri": redirect, "scope": scope}
        self.client = FHIRClient(settings=settings)
        # The client would add the scope launch/patient, which `scope` already contains.
        self.client.wants_patient = False
        self.client.prepare()
        return self.client.authorize_url

    def back(self, url):
        self.client.handle_callback(url)
        assert self.client.reauthorize(), "no tokens for the refresh token"
        return self.client.patient.id

    def read(self, query):
        from fhirclient.models.bundle import Bundle

        path, parameters = parts_of(query)
        if "/" in path:
            found = [entry.resource for entry in Bundle.read_from(path, self.client.server).entry]
        else:
            model = getattr(importlib.import_module(f"fhirclient.models.{path.lower()}"), path)
            found = model.where({**parameters, "_count": "2"}).perform_resources_iter(self.client.server)
        return [f"{each.resource_type}/{each.id}" for each in found]


class fhirpy:
    """Client without a login, so `use` receives a token."""

    def __init__(self, base):
        self.base = base

    def use(self, token, patient):
        from fhirpy import SyncFHIRClient

        self.client = SyncFHIRClient(self.base, authorization=f"Bearer {token}")
        return self.client.reference("Patient", patient).to_resource().id

    def read(self, query):
        path, parameters = parts_of(query)
        if "/" in path:
            found = self.resources_in(self.client.execute(path, method="get"))
        else:
            include, revinclude = parameters.pop("_include", None), parameters.pop("_revinclude", None)
            search = self.client.resources(path).search(**{name.replace("-", "_"): value for name, value in parameters.items()})
            if include:
                found = self.resources_in(search.include(*include.split(":")).fetch_raw())
            elif revinclude:
                found = self.resources_in(search.revinclude(*revinclude.split(":")).fetch_raw())
            else:
                found = search.limit(2).fetch_all()
                assert search.count() == len(found), f"the count is {search.count()} instead of {len(found)}"
        return [f"{each['resourceType']}/{each['id']}" for each in found]

    def resources_in(self, bundle):
        return [entry["resource"] for entry in bundle["entry"]]


def main(name, base):
    client = globals()[name](base)
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        try:
            answer = {"result": getattr(client, method)(*arguments)}
        except Exception as error:  # the program continues with the next line
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main(*sys.argv[1:])
