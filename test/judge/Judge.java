/**
 * HAPI's validator of FHIR R4, without network. A line in: `{"profile"?, "isTold"?, "text"}`; a line out: a JSON list of the ids of what is
 * wrong, in order; `isTold`: each with where it is and what is said. Arguments: packages (.tgz) on the class path to load.
 */
import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.context.support.DefaultProfileValidationSupport;
import ca.uhn.fhir.validation.FhirValidator;
import ca.uhn.fhir.validation.ResultSeverityEnum;
import ca.uhn.fhir.validation.SingleValidationMessage;
import ca.uhn.fhir.validation.ValidationOptions;
import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.hl7.fhir.common.hapi.validation.support.CommonCodeSystemsTerminologyService;
import org.hl7.fhir.common.hapi.validation.support.InMemoryTerminologyServerValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.NpmPackageValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.SnapshotGeneratingValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.UnknownCodeSystemWarningValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.ValidationSupportChain;
import org.hl7.fhir.common.hapi.validation.validator.FhirDefaultPolicyAdvisor;
import org.hl7.fhir.common.hapi.validation.validator.FhirInstanceValidator;
import org.hl7.fhir.r5.elementmodel.Element;
import org.hl7.fhir.r5.model.CanonicalResource;
import org.hl7.fhir.r5.model.CanonicalType;
import org.hl7.fhir.r5.utils.validation.IResourceValidator;
import org.hl7.fhir.r5.utils.validation.IValidatorResourceFetcher;
import org.hl7.fhir.r5.utils.validation.constants.BestPracticeWarningLevel;
import org.hl7.fhir.r5.utils.validation.constants.ReferenceValidationPolicy;
import org.hl7.fhir.validation.instance.InstanceValidator;

public final class Judge {
  public static void main(String[] packages) throws Exception {
    FhirValidator validator = validatorOf(packages);
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    Gson gson = new Gson();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonObject asked = JsonParser.parseString(line).getAsJsonObject();
      ValidationOptions options = new ValidationOptions();
      if (asked.has("profile")) options.addProfile(asked.get("profile").getAsString());
      out.println(gson.toJson(verdict(validator, asked.get("text").getAsString(), options, asked.has("isTold"))));
      out.flush();
    }
  }

  private static List<String> verdict(FhirValidator validator, String text, ValidationOptions options, boolean isTold) {
    try {
      return validator.validateWithResult(text, options).getMessages().stream()
          .filter(message -> message.getSeverity().compareTo(ResultSeverityEnum.ERROR) >= 0)
          .map(message -> isTold ? nameOf(message) + " " + message.getLocationString() + " " + message.getMessage() : nameOf(message))
          .distinct()
          .sorted()
          .toList();
    } catch (RuntimeException crash) {
      return List.of("crash " + crash.getClass().getSimpleName());
    }
  }

  private static String nameOf(SingleValidationMessage message) {
    return message.getMessageId() == null ? "unnamed" : message.getMessageId().replace(DEFINITION, "");
  }

  private static final String DEFINITION = "http://hl7.org/fhir/StructureDefinition/";

  private static FhirValidator validatorOf(String[] packages) throws Exception {
    Locale.setDefault(Locale.ENGLISH);
    FhirContext context = FhirContext.forR4();
    NpmPackageValidationSupport loaded = new NpmPackageValidationSupport(context);
    for (String each : packages) loaded.loadPackageFromClasspath(each);
    UnknownCodeSystemWarningValidationSupport unknown = new UnknownCodeSystemWarningValidationSupport(context);
    unknown.setNonExistentCodeSystemSeverity(ca.uhn.fhir.context.support.IValidationSupport.IssueSeverity.WARNING);
    FhirInstanceValidator instances = new FhirInstanceValidator(new ValidationSupportChain(
        loaded,
        new DefaultProfileValidationSupport(context),
        new CommonCodeSystemsTerminologyService(context),
        new InMemoryTerminologyServerValidationSupport(context),
        new SnapshotGeneratingValidationSupport(context),
        unknown));
    instances.setBestPracticeWarningLevel(BestPracticeWarningLevel.Ignore);
    instances.setValidatorPolicyAdvisor(new TypesOfReferences());
    instances.setValidatorResourceFetcher(new OnlyTypes(context.getResourceTypes()));
    return context.newValidator().registerValidatorModule(instances);
  }

  private static final class TypesOfReferences extends FhirDefaultPolicyAdvisor {
    @Override
    public ReferenceValidationPolicy policyForReference(
        IResourceValidator validator, Object context, String path, String url, ReferenceDestinationType destination) {
      return ReferenceValidationPolicy.CHECK_TYPE_IF_EXISTS;
    }
  }

  /** Where `Type/id` refers to is a resource of that type without content: only its type is judged. */
  private record OnlyTypes(Set<String> types) implements IValidatorResourceFetcher {
    @Override
    public Element fetch(IResourceValidator validator, Object context, String url) {
      Matcher named = TYPE_AND_ID.matcher(url);
      if (!named.find() || !types.contains(named.group(1))) return null;
      try {
        return new org.hl7.fhir.r5.elementmodel.JsonParser(((InstanceValidator) validator).getContext())
            .parse(new ArrayList<>(), org.hl7.fhir.utilities.json.parser.JsonParser.parseObject("{\"resourceType\":\"" + named.group(1) + "\"}"));
      } catch (Exception unreadable) {
        throw new IllegalStateException(unreadable);
      }
    }

    private static final Pattern TYPE_AND_ID = Pattern.compile("(?:^|/)([A-Z][A-Za-z]+)/[A-Za-z0-9.-]{1,64}(?:/_history/[A-Za-z0-9.-]{1,64})?$");

    @Override
    public boolean resolveURL(
        IResourceValidator validator, Object context, String path, String url, String type, boolean canonical, List<CanonicalType> targets) {
      return true;
    }

    @Override
    public byte[] fetchRaw(IResourceValidator validator, String url) {
      throw new UnsupportedOperationException();
    }

    @Override
    public IValidatorResourceFetcher setLocale(Locale locale) {
      return this;
    }

    @Override
    public CanonicalResource fetchCanonicalResource(IResourceValidator validator, Object context, String url) {
      return null;
    }

    @Override
    public boolean fetchesCanonicalResource(IResourceValidator validator, String url) {
      return false;
    }

    @Override
    public Set<ResourceVersionInformation> fetchCanonicalResourceVersions(IResourceValidator validator, Object context, String url) {
      return Set.of();
    }
  }
}
