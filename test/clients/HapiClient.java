/**
 * Runs the steps of HAPI's client with a strict parser. Arguments: the base URL, and optionally `encoding`, to request JSON in each URL.
 * Prints a line for each step: its name, a tab, and the error. A successful step has no error.
 */
import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.parser.StrictErrorHandler;
import ca.uhn.fhir.rest.api.EncodingEnum;
import ca.uhn.fhir.rest.api.MethodOutcome;
import ca.uhn.fhir.rest.client.api.IGenericClient;
import ca.uhn.fhir.rest.client.api.ServerValidationModeEnum;
import ca.uhn.fhir.rest.gclient.TokenClientParam;
import ca.uhn.fhir.rest.server.exceptions.PreconditionFailedException;
import ca.uhn.fhir.rest.server.exceptions.ResourceNotFoundException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.hl7.fhir.r4.model.BooleanType;
import org.hl7.fhir.r4.model.Bundle;
import org.hl7.fhir.r4.model.Bundle.HTTPVerb;
import org.hl7.fhir.r4.model.CapabilityStatement;
import org.hl7.fhir.r4.model.CodeType;
import org.hl7.fhir.r4.model.Enumerations.AdministrativeGender;
import org.hl7.fhir.r4.model.IdType;
import org.hl7.fhir.r4.model.Observation;
import org.hl7.fhir.r4.model.Parameters;
import org.hl7.fhir.r4.model.Patient;
import org.hl7.fhir.r4.model.StringType;

public final class HapiClient {
  private interface Step {
    void run() throws Exception;
  }

  private static final String SYSTEM = "http://example.org/clients";
  private static final TokenClientParam IDENTIFIER = new TokenClientParam("identifier");

  private final IGenericClient client;
  private final String name;

  private HapiClient(IGenericClient client, String name) {
    this.client = client;
    this.name = name;
  }

  public static void main(String[] arguments) {
    FhirContext context = FhirContext.forR4();
    context.setParserErrorHandler(new StrictErrorHandler());
    context.getRestfulClientFactory().setServerValidationMode(ServerValidationModeEnum.ONCE);
    IGenericClient client = context.newRestfulGenericClient(arguments[0]);
    boolean isEncoded = arguments.length > 1;
    if (isEncoded) client.setEncoding(EncodingEnum.JSON);
    new HapiClient(client, isEncoded ? "hapi-encoding" : "hapi").steps().forEach((step, body) -> {
      String error = "";
      try {
        body.run();
      } catch (Exception | AssertionError thrown) {
        error = thrown.toString().replaceAll("\\s+", " ");
      }
      System.out.println(step + "\t" + error);
    });
  }

  private Map<String, Step> steps() {
    Map<String, Step> steps = new LinkedHashMap<>();
    steps.put("capabilities", this::capabilities);
    steps.put("create", this::create);
    steps.put("update with If-Match", this::update);
    steps.put("a stale If-Match is rejected", this::stale);
    steps.put("conditional create", this::conditionalCreate);
    steps.put("conditional update", this::conditionalUpdate);
    steps.put("conditional delete", this::conditionalDelete);
    steps.put("patch", this::patch);
    steps.put("delete", this::delete);
    steps.put("paged search", this::pages);
    steps.put("_include", this::include);
    steps.put("transaction", this::transaction);
    steps.put("history", this::history);
    return steps;
  }

  private void capabilities() {
    CapabilityStatement statement = client.capabilities().ofType(CapabilityStatement.class).execute();
    expectSame(statement.getFhirVersion().toCode(), "4.0.1");
    expectSame(statement.getRestFirstRep().getResource().isEmpty(), false);
  }

  private void create() {
    MethodOutcome created = client.create().resource(person("create")).execute();
    expectSame(List.of(created.getCreated(), created.getId().getVersionIdPart()), List.of(true, "1"));
    Patient read = client.read().resource(Patient.class).withId(created.getId().getIdPart()).execute();
    expectSame(read.getNameFirstRep().getFamily(), name + "-create");
  }

  private void update() {
    Patient created = createPatient("update");
    created.setGender(AdministrativeGender.FEMALE);
    MethodOutcome changed = client.update().resource(created).withAdditionalHeader("If-Match", "W/\"1\"").execute();
    expectSame(changed.getId().getVersionIdPart(), "2");
    Patient first = client.read().resource(Patient.class).withIdAndVersion(created.getIdElement().getIdPart(), "1").execute();
    expectSame(first.hasGender(), false);
  }

  private void stale() {
    Patient created = createPatient("stale");
    client.update().resource(created).execute();
    expectRejected(PreconditionFailedException.class, () -> client.update().resource(created).withAdditionalHeader("If-Match", "W/\"1\"").execute());
  }

  private void conditionalCreate() {
    MethodOutcome one = createOnce("conditional");
    MethodOutcome two = createOnce("conditional");
    expectSame(two.getId().getIdPart(), one.getId().getIdPart());
    expectSame(search("conditional").getTotal(), 1);
    MethodOutcome three = client.create().resource(person("conditional")).conditionalByUrl("Patient?identifier=" + SYSTEM + "|" + name + "-conditional").execute();
    expectSame(three.getId().getIdPart(), one.getId().getIdPart());
  }

  private MethodOutcome createOnce(String key) {
    return client.create().resource(person(key)).conditional().where(IDENTIFIER.exactly().systemAndCode(SYSTEM, name + "-" + key)).execute();
  }

  private void conditionalUpdate() {
    MethodOutcome one = upsert(person("upsert"));
    MethodOutcome two = upsert((Patient) person("upsert").setGender(AdministrativeGender.MALE));
    expectSame(List.of(two.getId().getIdPart(), two.getId().getVersionIdPart()), List.of(one.getId().getIdPart(), "2"));
  }

  private MethodOutcome upsert(Patient patient) {
    return client.update().resource(patient).conditional().where(IDENTIFIER.exactly().systemAndCode(SYSTEM, name + "-upsert")).execute();
  }

  private void conditionalDelete() {
    createPatient("gone");
    client.delete().resourceConditionalByType(Patient.class).where(IDENTIFIER.exactly().systemAndCode(SYSTEM, name + "-gone")).execute();
    expectSame(search("gone").getTotal(), 0);
  }

  private void patch() {
    Patient created = createPatient("patch");
    client.patch().withBody("[{\"op\":\"add\",\"path\":\"/active\",\"value\":true}]").withId(created.getIdElement().toUnqualifiedVersionless()).execute();
    Parameters change = new Parameters();
    Parameters.ParametersParameterComponent operation = change.addParameter().setName("operation");
    operation.addPart().setName("type").setValue(new CodeType("add"));
    operation.addPart().setName("path").setValue(new StringType("Patient"));
    operation.addPart().setName("name").setValue(new StringType("deceased"));
    operation.addPart().setName("value").setValue(new BooleanType(false));
    client.patch().withFhirPatch(change).withId(created.getIdElement().toUnqualifiedVersionless()).execute();
    client.patch().withBody("[{\"op\":\"add\",\"path\":\"/gender\",\"value\":\"other\"}]").conditional(Patient.class)
        .where(IDENTIFIER.exactly().systemAndCode(SYSTEM, name + "-patch")).execute();
    Patient read = client.read().resource(Patient.class).withId(created.getIdElement().getIdPart()).execute();
    expectSame(List.of(read.getActive(), read.getDeceasedBooleanType().booleanValue(), read.getGender().toCode(), read.getMeta().getVersionId()), List.of(true, false, "other", "4"));
  }

  private void delete() {
    Patient created = createPatient("delete");
    client.delete().resourceById(created.getIdElement().toUnqualifiedVersionless()).execute();
    expectRejected(ResourceNotFoundException.class, () -> client.read().resource(Patient.class).withId(created.getIdElement().getIdPart()).execute());
  }

  private void pages() {
    for (int i = 0; i < 5; i++) createPatient("page");
    List<String> ids = new ArrayList<>();
    Bundle page = client.search().forResource(Patient.class).where(IDENTIFIER.exactly().systemAndCode(SYSTEM, name + "-page")).count(2).returnBundle(Bundle.class).execute();
    while (true) {
      page.getEntry().forEach(entry -> ids.add(entry.getResource().getIdElement().getIdPart()));
      if (page.getLink("next") == null) break;
      page = client.loadPage().next(page).execute();
    }
    expectSame(List.of(ids.size(), new HashSet<>(ids).size()), List.of(5, 5));
  }

  private void include() {
    Patient created = createPatient("include");
    client.create().resource(observationOf(created.getIdElement().toUnqualifiedVersionless().getValue())).execute();
    Bundle found = client.search().forResource(Observation.class).where(Observation.PATIENT.hasId(created.getIdElement().getIdPart()))
        .include(Observation.INCLUDE_PATIENT).returnBundle(Bundle.class).execute();
    expectSame(found.getEntry().stream().map(entry -> entry.getSearch().getMode().toCode()).toList(), List.of("match", "include"));
  }

  private void transaction() {
    Bundle bundle = new Bundle().setType(Bundle.BundleType.TRANSACTION);
    String patient = "urn:uuid:" + UUID.randomUUID();
    bundle.addEntry().setFullUrl(patient).setResource(person("transaction")).getRequest().setMethod(HTTPVerb.POST).setUrl("Patient");
    bundle.addEntry().setResource(observationOf(patient)).getRequest().setMethod(HTTPVerb.POST).setUrl("Observation");
    Bundle answer = client.transaction().withBundle(bundle).execute();
    IdType created = new IdType(answer.getEntry().get(0).getResponse().getLocation());
    IdType observation = new IdType(answer.getEntry().get(1).getResponse().getLocation());
    Observation read = client.read().resource(Observation.class).withId(observation.getIdPart()).execute();
    expectSame(read.getSubject().getReference(), "Patient/" + created.getIdPart());
  }

  private void history() {
    Patient created = createPatient("history");
    client.delete().resourceById(created.getIdElement().toUnqualifiedVersionless()).execute();
    Bundle all = client.history().onInstance(created.getIdElement().toUnqualifiedVersionless()).returnBundle(Bundle.class).execute();
    expectSame(all.getEntry().stream().map(entry -> entry.getRequest().getMethod().toCode()).toList(), List.of("DELETE", "POST"));
    Bundle since = client.history().onType(Patient.class).returnBundle(Bundle.class).since(Date.from(Instant.now().minusSeconds(3_600))).count(2).execute();
    expectSame(since.getEntry().size(), 2);
    expectSame(client.history().onServer().returnBundle(Bundle.class).count(1).execute().getEntry().size(), 1);
  }

  private Patient person(String key) {
    Patient patient = new Patient();
    patient.addIdentifier().setSystem(SYSTEM).setValue(name + "-" + key);
    patient.addName().setFamily(name + "-" + key);
    return patient;
  }

  private Patient createPatient(String key) {
    return (Patient) client.create().resource(person(key)).prefer(ca.uhn.fhir.rest.api.PreferReturnEnum.REPRESENTATION).execute().getResource();
  }

  private static Observation observationOf(String patient) {
    Observation observation = new Observation();
    observation.setStatus(Observation.ObservationStatus.FINAL).getCode().setText("x");
    observation.getSubject().setReference(patient);
    return observation;
  }

  private Bundle search(String key) {
    return client.search().forResource(Patient.class).where(IDENTIFIER.exactly().systemAndCode(SYSTEM, name + "-" + key)).returnBundle(Bundle.class).execute();
  }

  private static void expectSame(Object found, Object expected) {
    if (!Objects.equals(found, expected)) throw new AssertionError("found " + found + " instead of " + expected);
  }

  private static void expectRejected(Class<? extends Exception> expected, Step step) {
    try {
      step.run();
    } catch (Exception error) {
      expectSame(error.getClass(), expected);
      return;
    }
    throw new AssertionError("not rejected");
  }
}
