"""Two clients in Python read the record of a member: member.py NAME BASE.

Each line of the input is an array in JSON: a method of the class NAME, and its arguments. It is answered by a line with `result` or `error`.
https://github.com/smart-on-fhir/client-py, https://github.com/beda-software/fhir-py
"""

import importlib
import json
import sys
import urllib.parse


def parts_of(query):
    """The path, and the parameters by name."""
    path, _, parameters = query.partition("?")
    return path, dict(urllib.parse.parse_qsl(parameters))


class fhirclient:
    """Its models refuse what R4 has not."""

    def __init__(self, base):
        self.base = base

    def authorize(self, app, redirect, scope):
        from fhirclient.client import FHIRClient

        settings = {"app_id": app, "api_base": self.base, "redirect_uri": redirect, "scope": scope}
        self.client = FHIRClient(settings=settings)
        # The scope launch/patient is among those given.
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
    """It has no login, so it is given a token."""

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
                assert search.count() == len(found), f"a count of {search.count()} in the place of {len(found)}"
        return [f"{each['resourceType']}/{each['id']}" for each in found]

    def resources_in(self, bundle):
        return [entry["resource"] for entry in bundle["entry"]]


def main(name, base):
    client = globals()[name](base)
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        try:
            answer = {"result": getattr(client, method)(*arguments)}
        except Exception as error:  # the next line may ask for something else
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main(*sys.argv[1:])
