/**
 * The profiles of US Core 6.1.0 that Inferno's kit tests: what must be supported, as the kit reads the profiles, and whose profiles the references
 * have. https://hl7.org/fhir/us/core/STU6.1/profiles-and-extensions.html, https://github.com/inferno-framework/us-core-test-kit
 */

/** Paths as of elements.ts; `path:profile|profile`. */
type Group = readonly [profile: string, type: string, mustSupport: string, references: string]

const VITAL =
  'status category category(vital-signs) category(vital-signs).coding category(vital-signs).coding.system category(vital-signs).coding.code code subject effectiveDateTime valueQuantity valueQuantity.value valueQuantity.unit valueQuantity.system valueQuantity.code'

export const PROFILE_GROUPS: readonly Group[] = [
  ['head-occipital-frontal-circumference-percentile', 'Observation', VITAL, 'subject:us-core-patient'],
  ['pediatric-bmi-for-age', 'Observation', VITAL, 'subject:us-core-patient'],
  ['pediatric-weight-for-height', 'Observation', VITAL, 'subject:us-core-patient'],
  ['us-core-allergyintolerance', 'AllergyIntolerance', 'clinicalStatus verificationStatus code patient reaction reaction.manifestation', 'patient:us-core-patient'],
  ['us-core-blood-pressure', 'Observation', 'status category category(vital-signs) category(vital-signs).coding category(vital-signs).coding.system category(vital-signs).coding.code code subject effectiveDateTime component component.code component.valueQuantity component.dataAbsentReason component(8480-6) component(8480-6).code component(8480-6).value[x] component(8480-6).valueQuantity.value component(8480-6).valueQuantity.unit component(8480-6).valueQuantity.system component(8480-6).valueQuantity.code component(8480-6).dataAbsentReason component(8462-4) component(8462-4).code component(8462-4).value[x] component(8462-4).valueQuantity.value component(8462-4).valueQuantity.unit component(8462-4).valueQuantity.system component(8462-4).valueQuantity.code component(8462-4).dataAbsentReason', 'subject:us-core-patient'],
  ['us-core-bmi', 'Observation', VITAL, 'subject:us-core-patient'],
  ['us-core-body-height', 'Observation', VITAL, 'subject:us-core-patient'],
  ['us-core-body-temperature', 'Observation', VITAL, 'subject:us-core-patient'],
  ['us-core-body-weight', 'Observation', VITAL, 'subject:us-core-patient'],
  ['us-core-careplan', 'CarePlan', 'text text.status text.div status intent category category(assess-plan) subject', 'subject:us-core-patient'],
  ['us-core-careteam', 'CareTeam', 'status subject participant participant.role participant.member', 'subject:us-core-patient participant.member:us-core-practitioner|us-core-practitionerrole|us-core-relatedperson'],
  ['us-core-condition-encounter-diagnosis', 'Condition', 'extension(condition-assertedDate) clinicalStatus verificationStatus category category(encounter-diagnosis) code subject encounter onsetDateTime abatementDateTime recordedDate', 'subject:us-core-patient encounter:us-core-encounter'],
  ['us-core-condition-problems-health-concerns', 'Condition', 'extension(condition-assertedDate) clinicalStatus verificationStatus category category(problem-list-item|health-concern) category(sdoh|functional-status|disability-status|cognitive-status) code subject onsetDateTime abatementDateTime recordedDate', 'subject:us-core-patient'],
  ['us-core-coverage', 'Coverage', 'identifier identifier(MB) identifier(MB).type status type subscriberId beneficiary relationship period payor class class(group) class(group).value class(group).name class(plan) class(plan).value class(plan).name', 'beneficiary:us-core-patient payor:us-core-organization'],
  ['us-core-diagnosticreport-lab', 'DiagnosticReport', 'status category category(LAB) code subject effectiveDateTime issued performer result', 'subject:us-core-patient performer:us-core-practitioner result:us-core-observation-lab'],
  ['us-core-diagnosticreport-note', 'DiagnosticReport', 'status category category(LP29684-5|LP29708-2|LP7839-6) code subject encounter effectiveDateTime issued performer result media media.link presentedForm', 'subject:us-core-patient encounter:us-core-encounter performer:us-core-practitioner|us-core-organization result:us-core-observation-lab|us-core-observation-clinical-result'],
  ['us-core-documentreference', 'DocumentReference', 'identifier status type category category(clinical-note) subject date author content content.attachment content.attachment.contentType content.attachment.data content.attachment.url content.format context context.encounter context.period', 'subject:us-core-patient author:us-core-practitioner context.encounter:us-core-encounter'],
  ['us-core-encounter', 'Encounter', 'identifier identifier.system identifier.value status class type subject participant participant.type participant.period participant.individual period reasonCode reasonReference hospitalization hospitalization.dischargeDisposition location location.location serviceProvider', 'subject:us-core-patient participant.individual:us-core-practitioner reasonReference:us-core-condition-problems-health-concerns|us-core-condition-encounter-diagnosis serviceProvider:us-core-organization'],
  ['us-core-goal', 'Goal', 'lifecycleStatus description subject startDate target target.dueDate', 'subject:us-core-patient'],
  ['us-core-head-circumference', 'Observation', VITAL, 'subject:us-core-patient'],
  ['us-core-heart-rate', 'Observation', VITAL, 'subject:us-core-patient'],
  ['us-core-immunization', 'Immunization', 'status statusReason vaccineCode patient occurrenceDateTime primarySource', 'patient:us-core-patient'],
  ['us-core-implantable-device', 'Device', 'udiCarrier udiCarrier.deviceIdentifier udiCarrier.carrierHRF distinctIdentifier manufactureDate expirationDate lotNumber serialNumber type patient', 'patient:us-core-patient'],
  ['us-core-medicationdispense', 'MedicationDispense', 'status medication[x] subject performer performer.actor authorizingPrescription type quantity whenHandedOver dosageInstruction dosageInstruction.text dosageInstruction.timing dosageInstruction.doseAndRate dosageInstruction.doseAndRate.doseQuantity', 'medication[x]:us-core-medication subject:us-core-patient performer.actor:us-core-practitioner|us-core-organization authorizingPrescription:us-core-medicationrequest'],
  ['us-core-medicationrequest', 'MedicationRequest', 'status intent category category(inpatient|outpatient|community|discharge) reportedBoolean reportedReference medication[x] subject encounter authoredOn requester reasonCode reasonReference dosageInstruction dosageInstruction.text dosageInstruction.timing dosageInstruction.doseAndRate dosageInstruction.doseAndRate.doseQuantity dispenseRequest dispenseRequest.numberOfRepeatsAllowed dispenseRequest.quantity', 'reported[x]:us-core-practitioner medication[x]:us-core-medication subject:us-core-patient encounter:us-core-encounter requester:us-core-practitioner'],
  ['us-core-observation-clinical-result', 'Observation', 'status category category(laboratory|exam|therapy|imaging|procedure|vital-signs|activity) code subject effectiveDateTime valueQuantity valueCodeableConcept valueString', 'subject:us-core-patient'],
  ['us-core-observation-lab', 'Observation', 'status category category(laboratory) code subject effectiveDateTime valueQuantity valueCodeableConcept valueString specimen', 'subject:us-core-patient specimen:us-core-specimen'],
  ['us-core-observation-occupation', 'Observation', 'status category category(social-history) code subject effectivePeriod valueCodeableConcept component component(86188-0) component(86188-0).code component(86188-0).value[x]', 'subject:us-core-patient'],
  ['us-core-observation-pregnancyintent', 'Observation', 'status category category(social-history) code subject effectiveDateTime valueCodeableConcept', 'subject:us-core-patient'],
  ['us-core-observation-pregnancystatus', 'Observation', 'status category category(social-history) code subject effectiveDateTime valueCodeableConcept', 'subject:us-core-patient'],
  ['us-core-observation-screening-assessment', 'Observation', 'status category category(survey) category(sdoh|functional-status|disability-status|cognitive-status) code subject effectiveDateTime performer valueQuantity valueCodeableConcept valueString hasMember derivedFrom', 'subject:us-core-patient hasMember:us-core-observation-screening-assessment derivedFrom:us-core-observation-screening-assessment|us-core-questionnaireresponse'],
  ['us-core-observation-sexual-orientation', 'Observation', 'status code subject effectiveDateTime valueCodeableConcept', 'subject:us-core-patient'],
  ['us-core-organization', 'Organization', 'identifier identifier.system identifier.value identifier(us-npi) active name telecom telecom.system telecom.value address address.line address.city address.state address.postalCode address.country', ''],
  ['us-core-patient', 'Patient', 'extension(us-core-race) extension(us-core-ethnicity) extension(us-core-tribal-affiliation) extension(us-core-sex) extension(us-core-genderIdentity) identifier identifier.system identifier.value name name.use name.family name.given name.suffix name.period telecom telecom.system telecom.value telecom.use gender birthDate deceased[x] address address.use address.line address.city address.state address.postalCode address.period communication communication.language', ''],
  ['us-core-practitioner', 'Practitioner', 'identifier identifier.system identifier.value identifier(us-npi) name name.family telecom telecom.system telecom.value address address.line address.city address.state address.postalCode address.country', ''],
  ['us-core-practitionerrole', 'PractitionerRole', 'practitioner organization code specialty location telecom telecom.system telecom.value endpoint', 'practitioner:us-core-practitioner organization:us-core-organization'],
  ['us-core-procedure', 'Procedure', 'basedOn status code subject performedDateTime', 'subject:us-core-patient'],
  ['us-core-provenance', 'Provenance', 'target target.reference recorded agent agent.type agent.who agent.onBehalfOf agent(author) agent(author).type agent(transmitter) agent(transmitter).type', 'agent.who:us-core-organization agent.onBehalfOf:us-core-organization'],
  ['us-core-pulse-oximetry', 'Observation', 'status category category(vital-signs) category(vital-signs).coding category(vital-signs).coding.system category(vital-signs).coding.code code code.coding code.coding(59408-5) code.coding(2708-6) subject effectiveDateTime valueQuantity valueQuantity.value valueQuantity.unit valueQuantity.system valueQuantity.code component component.code component.valueQuantity component(3151-8) component(3151-8).code component(3151-8).valueQuantity component(3151-8).valueQuantity.value component(3151-8).valueQuantity.unit component(3151-8).valueQuantity.system component(3151-8).valueQuantity.code component(3150-0) component(3150-0).code component(3150-0).valueQuantity component(3150-0).valueQuantity.value component(3150-0).valueQuantity.unit component(3150-0).valueQuantity.system component(3150-0).valueQuantity.code', 'subject:us-core-patient'],
  ['us-core-questionnaireresponse', 'QuestionnaireResponse', 'identifier questionnaire _questionnaire.extension(display) _questionnaire.extension(us-core-extension-questionnaire-uri) status subject authored author item item.linkId item.text item.answer item.answer.valueDecimal item.answer.valueString item.answer.valueCoding item.answer.item item.item', 'subject:us-core-patient author:us-core-practitioner'],
  ['us-core-relatedperson', 'RelatedPerson', 'active patient relationship name telecom address', 'patient:us-core-patient'],
  ['us-core-respiratory-rate', 'Observation', VITAL, 'subject:us-core-patient'],
  ['us-core-servicerequest', 'ServiceRequest', 'status intent category category(sdoh|functional-status|disability-status|cognitive-status|386053000|410606002|108252007|363679005|409063005|409073007|387713003) code subject occurrencePeriod authoredOn requester reasonCode reasonReference', 'subject:us-core-patient requester:us-core-practitioner'],
  ['us-core-simple-observation', 'Observation', 'status category category(sdoh|functional-status|disability-status|cognitive-status|social-history|vital-signs|imaging|laboratory|procedure|survey|exam|therapy|activity) code subject effectiveDateTime performer valueQuantity valueCodeableConcept valueString valueBoolean derivedFrom', 'subject:us-core-patient'],
  ['us-core-smokingstatus', 'Observation', 'status category category(social-history) code subject effectiveDateTime valueCodeableConcept', 'subject:us-core-patient'],
  ['us-core-specimen', 'Specimen', 'type subject', 'subject:us-core-patient'],
] // biome-ignore format: a table

/** What no example of the package has: nothing tells whether it comes back. */
export const NOT_IN_EXAMPLES: Readonly<Record<string, string>> = {
  'us-core-blood-pressure': 'component(8480-6).dataAbsentReason',
  'us-core-condition-problems-health-concerns': 'abatementDateTime',
  'us-core-diagnosticreport-note': 'encounter',
  'us-core-encounter': 'identifier identifier.system identifier.value participant participant.type participant.period participant.individual reasonCode reasonReference serviceProvider',
  'us-core-goal': 'startDate',
  'us-core-immunization': 'statusReason',
  'us-core-implantable-device': 'distinctIdentifier',
  'us-core-medicationrequest': 'category category(inpatient|outpatient|community|discharge) reportedReference',
  'us-core-observation-lab': 'valueString',
  'us-core-patient': 'communication communication.language',
  'us-core-practitioner': 'address.country',
  'us-core-practitionerrole': 'telecom telecom.system telecom.value',
  'us-core-provenance': 'agent(transmitter) agent(transmitter).type',
  'us-core-pulse-oximetry': 'component(3150-0) component(3150-0).code component(3150-0).valueQuantity component(3150-0).valueQuantity.value component(3150-0).valueQuantity.unit component(3150-0).valueQuantity.system component(3150-0).valueQuantity.code',
  'us-core-questionnaireresponse': 'identifier _questionnaire.extension(display) item.answer.valueString item.answer.item',
  'us-core-servicerequest': 'occurrencePeriod',
  'us-core-simple-observation': 'valueQuantity',
} // biome-ignore format: a table

/** Profiles that must be supported at a reference, and that no example refers to. */
export const NOT_REFERRED_TO: Readonly<Record<string, string>> = {
  'us-core-careteam': 'participant.member:us-core-practitionerrole',
  'us-core-diagnosticreport-lab': 'performer:us-core-practitioner',
  'us-core-diagnosticreport-note': 'encounter:us-core-encounter performer:us-core-organization result:us-core-observation-lab',
  'us-core-encounter': 'participant.individual:us-core-practitioner reasonReference:us-core-condition-problems-health-concerns reasonReference:us-core-condition-encounter-diagnosis serviceProvider:us-core-organization',
  'us-core-medicationdispense': 'medication[x]:us-core-medication performer.actor:us-core-organization',
  'us-core-medicationrequest': 'reported[x]:us-core-practitioner',
  'us-core-observation-screening-assessment': 'derivedFrom:us-core-observation-screening-assessment',
  'us-core-provenance': 'agent.who:us-core-organization',
} // biome-ignore format: a table
