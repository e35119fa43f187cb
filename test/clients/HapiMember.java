/**
 * Reads the record of a member with HAPI's client and a strict parser. Argument: the base URL. Each line of the input is a JSON array:
 * `use` or `read`, and its arguments. The program prints a line with `result` or `error` for it.
 */
import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.parser.StrictErrorHandler;
import ca.uhn.fhir.rest.client.api.IGenericClient;
import ca.uhn.fhir.rest.client.interceptor.BearerTokenAuthInterceptor;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.hl7.fhir.r4.model.Bundle;
import org.hl7.fhir.r4.model.Parameters;
import org.hl7.fhir.r4.model.Patient;
import org.hl7.fhir.r4.model.Resource;

public final class HapiMember {
  private static final String EVERYTHING = "/$everything";

  private final IGenericClient client;

  private HapiMember(IGenericClient client) {
    this.client = client;
  }

  public static void main(String[] arguments) throws IOException {
    FhirContext context = FhirContext.forR4();
    context.setParserErrorHandler(new StrictErrorHandler());
    HapiMember member = new HapiMember(context.newRestfulGenericClient(arguments[0]));
    ObjectMapper json = new ObjectMapper();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine())
      System.out.println(json.writeValueAsString(member.answerOf(json.readTree(line))));
  }

  private Map<String, Object> answerOf(JsonNode call) {
    try {
      String first = call.get(1).textValue();
      return Map.of("result", call.get(0).textValue().equals("use") ? use(first, call.get(2).textValue()) : read(first));
    } catch (Exception thrown) {
      return Map.of("error", thrown.toString());
    }
  }

  private String use(String token, String patient) {
    client.registerInterceptor(new BearerTokenAuthInterceptor(token));
    return client.read().resource(Patient.class).withId(patient).execute().getIdElement().getIdPart();
  }

  private List<String> read(String query) {
    List<String> found = new ArrayList<>();
    Bundle page = firstPage(query);
    while (true) {
      page.getEntry().forEach(entry -> found.add(keyOf(entry.getResource())));
      if (page.getLink("next") == null) return found;
      page = client.loadPage().next(page).execute();
    }
  }

  private Bundle firstPage(String query) {
    if (!query.endsWith(EVERYTHING)) return client.search().byUrl(query).count(2).returnBundle(Bundle.class).execute();
    String patient = query.substring(0, query.length() - EVERYTHING.length());
    return client.operation().onInstance(patient).named(EVERYTHING.substring(1)).withNoParameters(Parameters.class).returnResourceType(Bundle.class).execute();
  }

  private static String keyOf(Resource resource) {
    return resource.fhirType() + "/" + resource.getIdElement().getIdPart();
  }
}
