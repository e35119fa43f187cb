/** The official examples that cases are made of. */
import { readPackage, type Tree } from './definitions.ts'
import { small } from './small.ts'

const CHOSEN = `Account-ewg AllergyIntolerance-example Appointment-example AuditEvent-example Bundle-b248b1b2-1686-4b94-9936-37d7a5f94b51
CapabilityStatement-base2 CarePlan-gpvisit CareTeam-example ChargeItem-example Claim-100152 ClaimResponse-UR3503 Communication-fm-solicited
Composition-example-mixed ConceptMap-101 Condition-f002 Consent-consent-example-pkb Coverage-7546D DeviceRequest-insulinpump
DiagnosticReport-f201 DocumentReference-example Encounter-f203 EpisodeOfCare-example ExplanationOfBenefit-EB3501 FamilyMemberHistory-father
Goal-example Group-herd1 ImagingStudy-example-xr Immunization-protocol List-example-double-cousin-relationship Location-1
MedicationAdministration-medadmin0302 MedicationDispense-meddisp0302 MedicationRequest-medrx0321 MedicationStatement-example004
MolecularSequence-fda-vcfeval-comparison NutritionOrder-enteralbolus Observation-blood-pressure OperationDefinition-Resource-validate
Organization-f001 Patient-f201 PractitionerRole-example Procedure-biopsy Provenance-example Questionnaire-bb QuestionnaireResponse-3141
RelatedPerson-benedicte RequestGroup-example RiskAssessment-riskexample ServiceRequest-lipid Specimen-101 Substance-f205 Task-example1
ValueSet-example-expansion VisionPrescription-33123`.split(/\s+/)

export const seeds = (): ReadonlyMap<string, Tree> => new Map(CHOSEN.map((name) => [name, small(readPackage(`${name}.json`))]))
