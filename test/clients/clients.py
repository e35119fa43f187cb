"""Runs the steps of two clients in Python: clients.py NAME BASE.

Prints a line for each step: its name, a tab, and the error. A successful step has no error.

https://github.com/smart-on-fhir/client-py, https://github.com/beda-software/fhir-py
"""

import sys
import uuid

SYSTEM = "http://example.org/clients"
ADD_ACTIVE = [{"op": "add", "path": "/active", "value": True}]


def expect_same(found, expected):
    assert found == expected, f"found {found} instead of {expected}"


def expect_rejected(send, expected):
    try:
        send()
    except expected:
        return
    raise AssertionError("not rejected")


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
    """Steps of fhirclient. Its models reject elements that R4 lacks. It has no request headers, conditional interactions, patch or history."""
    from fhirclient.client import FHIRClient
    from fhirclient.models.bundle import Bundle
    from fhirclient.models.observation import Observation
    from fhirclient.models.patient import Patient
    from fhirclient.server import FHIRNotFoundException

    server = FHIRClient(settings={"app_id": "test", "api_base": base + "/"}).server
    name = "fhirclient.py"

    def create_patient(key):
        return Patient(Patient(person(name, key)).create(server))

    def capabilities():
        server.get_capability()
        expect_same(server.capabilityStatement.fhirVersion, "4.0.1")
        expect_same(server.ready, True)

    def create():
        patient = create_patient("create")
        read = Patient.read(patient.id, server)
        expect_same((read.meta.versionId, read.name[0].family), ("1", f"{name}-create"))

    def update():
        patient = create_patient("update")
        patient.gender = "female"
        changed = Patient(patient.update(server))
        expect_same((changed.gender, changed.meta.versionId), ("female", "2"))

    def delete():
        patient = create_patient("delete")
        patient.delete(server)
        expect_rejected(lambda: Patient.read(patient.id, server), FHIRNotFoundException)

    def pages():
        for _ in range(5):
            create_patient("page")
        search = Patient.where({"identifier": f"{SYSTEM}|{name}-page", "_count": "2"})
        ids = [each.id for each in search.perform_resources_iter(server)]
        expect_same((len(ids), len(set(ids))), (5, 5))

    def include():
        patient = create_patient("include")
        Observation({"status": "final", "code": {"text": "x"}, "subject": {"reference": f"Patient/{patient.id}"}}).create(server)
        search = Observation.where({"subject": f"Patient/{patient.id}"}).include("subject")
        found = search.perform(server)
        expect_same([entry.search.mode for entry in found.entry], ["match", "include"])

    def post_transaction():
        answer = Bundle(Bundle(transaction(name)).create(server)).as_json()
        patient, observation = map(id_in, answer["entry"])
        expect_same(Observation.read(observation, server).subject.reference, f"Patient/{patient}")

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
    """Steps of fhirpy. Its conditional create and its patch differ from R4, so these steps send the requests of R4 through its client."""
    from fhirpy import SyncFHIRClient
    from fhirpy.base.exceptions import MultipleResourcesFound, ResourceNotFound

    client = SyncFHIRClient(base)
    name = "fhirpy"

    def create_patient(key, **more):
        return client.resource("Patient", **person(name, key, **more)).create()

    def search_for(key):
        return client.resources("Patient").search(identifier=f"{SYSTEM}|{name}-{key}")

    def send(method, path, data, **headers):
        return client._do_request(method, path, data=data, extra_headers={key.replace("_", "-"): value for key, value in headers.items()})

    def capabilities():
        expect_same(client.execute("metadata", method="get")["fhirVersion"], "4.0.1")

    def create():
        patient = create_patient("create")
        expect_same((patient.meta.versionId, client.reference("Patient", patient.id).to_resource().name[0].family), ("1", f"{name}-create"))
        expect_same(patient.refresh().meta.versionId, "1")
        expect_same(patient.is_valid(), True)

    def update():
        patient = create_patient("update")
        changed = send("put", f"Patient/{patient.id}", {**patient.serialize(), "gender": "female"}, If_Match='W/"1"')
        expect_same((changed["gender"], changed["meta"]["versionId"]), ("female", "2"))
        expect_same(patient.refresh().gender, "female")

    def stale():
        patient = create_patient("stale")
        patient.update()
        expect_rejected(lambda: send("put", f"Patient/{patient.id}", patient.serialize(), If_Match='W/"1"'), MultipleResourcesFound)

    def conditional_create():
        body = {"resourceType": "Patient", **person(name, "conditional")}
        one, two = [send("post", "Patient", body, If_None_Exist=f"identifier={SYSTEM}|{name}-conditional") for _ in range(2)]
        expect_same((two["id"], search_for("conditional").count()), (one["id"], 1))

    def conditional_update():
        one, is_new = search_for("upsert").update(client.resource("Patient", **person(name, "upsert")))
        two, is_new_again = search_for("upsert").update(client.resource("Patient", **person(name, "upsert", gender="male")))
        expect_same((two.id, two.gender, is_new, is_new_again), (one.id, "male", True, False))

    def conditional_delete():
        create_patient("gone")
        _, status = search_for("gone").delete()
        expect_same((status, search_for("gone").count()), (204, 0))

    def patch():
        patient = create_patient("patch")
        send("patch", f"Patient/{patient.id}", ADD_ACTIVE, Content_Type="application/json-patch+json")
        expect_same(patient.refresh().active, True)

    def delete():
        patient = create_patient("delete")
        patient.delete()
        expect_rejected(lambda: patient.refresh(), ResourceNotFound)

    def pages():
        for _ in range(5):
            create_patient("page")
        ids = [each.id for each in search_for("page").limit(2)]
        expect_same((len(ids), len(set(ids))), (5, 5))
        expect_same(len(search_for("page").limit(2).fetch_all()), 5)
        expect_same(search_for("page").first().resourceType, "Patient")

    def include():
        patient = create_patient("include")
        client.resource("Observation", status="final", code={"text": "x"}, subject=patient.to_reference()).create()
        answer = client.resources("Observation").search(patient=patient.id).include("Observation", "patient").fetch_raw()
        expect_same([entry["search"]["mode"] for entry in answer["entry"]], ["match", "include"])

    def post_transaction():
        answer = client.resource("Bundle", **transaction(name))
        entries = client.execute("", data=answer.serialize())["entry"]
        patient, observation = map(id_in, entries)
        expect_same(client.reference("Observation", observation).to_resource().subject.reference, f"Patient/{patient}")

    def history():
        patient = create_patient("history")
        patient.delete()
        entries = client.execute(f"Patient/{patient.id}/_history", method="get")["entry"]
        expect_same([entry["request"]["method"] for entry in entries], ["DELETE", "POST"])

    return {
        "capabilities": capabilities,
        "create": create,
        "update with If-Match": update,
        "a stale If-Match is rejected": stale,
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
        failure = ""
        try:
            run()
        except Exception as error:  # the other steps still run
            failure = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"{step}\t{failure}", flush=True)


main(*sys.argv[1:])
