"""What two clients in Python do with a server: clients.py NAME BASE. A line for each step: its name, a tab, and what went wrong.

https://github.com/smart-on-fhir/client-py, https://github.com/beda-software/fhir-py
"""

import sys
import uuid

SYSTEM = "http://example.org/clients"
ADD_ACTIVE = [{"op": "add", "path": "/active", "value": True}]


def same(found, expected):
    assert found == expected, f"{found} in the place of {expected}"


def refused(asked, how):
    try:
        asked()
    except how:
        return
    raise AssertionError("not refused")


def person(name, key, **more):
    return {"identifier": [{"system": SYSTEM, "value": f"{name}-{key}"}], "name": [{"family": f"{name}-{key}"}], **more}


def transaction(name):
    full_url = f"urn:uuid:{uuid.uuid4()}"
    observation = {"resourceType": "Observation", "status": "final", "code": {"text": "x"}, "subject": {"reference": full_url}}
    patient = {"resourceType": "Patient", **person(name, "transaction")}
    return {
        "type": "transaction",
        "entry": [
            {"fullUrl": full_url, "resource": patient, "request": {"method": "POST", "url": "Patient"}},
            {"fullUrl": f"urn:uuid:{uuid.uuid4()}", "resource": observation, "request": {"method": "POST", "url": "Observation"}},
        ],
    }


def id_in(entry):
    return entry["response"]["location"].split("/_history/")[0].split("/")[-1]


def smart(base):
    """Its models refuse what R4 has not. It has no headers of requests, no conditional interactions, no patch and no history."""
    from fhirclient.client import FHIRClient
    from fhirclient.models.bundle import Bundle
    from fhirclient.models.observation import Observation
    from fhirclient.models.patient import Patient
    from fhirclient.server import FHIRNotFoundException

    server = FHIRClient(settings={"app_id": "test", "api_base": base + "/"}).server
    name = "fhirclient.py"

    def made(key):
        return Patient(Patient(person(name, key)).create(server))

    def capabilities():
        server.get_capability()
        same(server.capabilityStatement.fhirVersion, "4.0.1")
        same(server.ready, True)

    def create():
        patient = made("create")
        read = Patient.read(patient.id, server)
        same((read.meta.versionId, read.name[0].family), ("1", f"{name}-create"))

    def update():
        patient = made("update")
        patient.gender = "female"
        changed = Patient(patient.update(server))
        same((changed.gender, changed.meta.versionId), ("female", "2"))

    def delete():
        patient = made("delete")
        patient.delete(server)
        refused(lambda: Patient.read(patient.id, server), FHIRNotFoundException)

    def pages():
        for _ in range(5):
            made("page")
        search = Patient.where({"identifier": f"{SYSTEM}|{name}-page", "_count": "2"})
        ids = [each.id for each in search.perform_resources_iter(server)]
        same((len(ids), len(set(ids))), (5, 5))

    def include():
        patient = made("include")
        Observation({"status": "final", "code": {"text": "x"}, "subject": {"reference": f"Patient/{patient.id}"}}).create(server)
        search = Observation.where({"subject": f"Patient/{patient.id}"}).include("subject")
        found = search.perform(server)
        same([entry.search.mode for entry in found.entry], ["match", "include"])

    def post_transaction():
        answer = Bundle(Bundle(transaction(name)).create(server)).as_json()
        patient, observation = map(id_in, answer["entry"])
        same(Observation.read(observation, server).subject.reference, f"Patient/{patient}")

    return {
        "capabilities": capabilities,
        "create": create,
        "update": update,
        "delete": delete,
        "paged search": pages,
        "_include": include,
        "transaction": post_transaction,
    }


def fhirpy(base):
    """Its own conditional create and its patch are not FHIR's: those are sent as R4 has them, by its client."""
    from fhirpy import SyncFHIRClient
    from fhirpy.base.exceptions import MultipleResourcesFound, ResourceNotFound

    client = SyncFHIRClient(base)
    name = "fhirpy"

    def made(key, **more):
        return client.resource("Patient", **person(name, key, **more)).create()

    def found(key):
        return client.resources("Patient").search(identifier=f"{SYSTEM}|{name}-{key}")

    def send(method, path, data, **headers):
        return client._do_request(method, path, data=data, extra_headers={key.replace("_", "-"): value for key, value in headers.items()})

    def capabilities():
        same(client.execute("metadata", method="get")["fhirVersion"], "4.0.1")

    def create():
        patient = made("create")
        same((patient.meta.versionId, client.reference("Patient", patient.id).to_resource().name[0].family), ("1", f"{name}-create"))
        same(patient.refresh().meta.versionId, "1")
        same(patient.is_valid(), True)

    def update():
        patient = made("update")
        changed = send("put", f"Patient/{patient.id}", {**patient.serialize(), "gender": "female"}, If_Match='W/"1"')
        same((changed["gender"], changed["meta"]["versionId"]), ("female", "2"))
        same(patient.refresh().gender, "female")

    def stale():
        patient = made("stale")
        patient.update()
        refused(lambda: send("put", f"Patient/{patient.id}", patient.serialize(), If_Match='W/"1"'), MultipleResourcesFound)

    def conditional_create():
        body = {"resourceType": "Patient", **person(name, "conditional")}
        one, two = [send("post", "Patient", body, If_None_Exist=f"identifier={SYSTEM}|{name}-conditional") for _ in range(2)]
        same((two["id"], found("conditional").count()), (one["id"], 1))

    def conditional_update():
        one, is_new = found("upsert").update(client.resource("Patient", **person(name, "upsert")))
        two, is_new_again = found("upsert").update(client.resource("Patient", **person(name, "upsert", gender="male")))
        same((two.id, two.gender, is_new, is_new_again), (one.id, "male", True, False))

    def conditional_delete():
        made("gone")
        _, status = found("gone").delete()
        same((status, found("gone").count()), (204, 0))

    def patch():
        patient = made("patch")
        send("patch", f"Patient/{patient.id}", ADD_ACTIVE, Content_Type="application/json-patch+json")
        same(patient.refresh().active, True)

    def delete():
        patient = made("delete")
        patient.delete()
        refused(lambda: patient.refresh(), ResourceNotFound)

    def pages():
        for _ in range(5):
            made("page")
        ids = [each.id for each in found("page").limit(2)]
        same((len(ids), len(set(ids))), (5, 5))
        same(len(found("page").limit(2).fetch_all()), 5)
        same(found("page").first().resourceType, "Patient")

    def include():
        patient = made("include")
        client.resource("Observation", status="final", code={"text": "x"}, subject=patient.to_reference()).create()
        answer = client.resources("Observation").search(patient=patient.id).include("Observation", "patient").fetch_raw()
        same([entry["search"]["mode"] for entry in answer["entry"]], ["match", "include"])

    def post_transaction():
        answer = client.resource("Bundle", **transaction(name))
        entries = client.execute("", data=answer.serialize())["entry"]
        patient, observation = map(id_in, entries)
        same(client.reference("Observation", observation).to_resource().subject.reference, f"Patient/{patient}")

    def history():
        patient = made("history")
        patient.delete()
        entries = client.execute(f"Patient/{patient.id}/_history", method="get")["entry"]
        same([entry["request"]["method"] for entry in entries], ["DELETE", "POST"])

    return {
        "capabilities": capabilities,
        "create": create,
        "update with If-Match": update,
        "a stale If-Match is refused": stale,
        "conditional create": conditional_create,
        "conditional update": conditional_update,
        "conditional delete": conditional_delete,
        "patch": patch,
        "delete": delete,
        "paged search": pages,
        "_include": include,
        "transaction": post_transaction,
        "history": history,
    }


def main(name, base):
    for step, run in {"fhirclient": smart, "fhirpy": fhirpy}[name](base).items():
        wrong = ""
        try:
            run()
        except Exception as error:  # each is told
            wrong = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"{step}\t{wrong}", flush=True)


main(*sys.argv[1:])
