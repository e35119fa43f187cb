/** The official examples and definitions of R4 through the validator: which are refused, and why. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { parseJson } from '../../lambdas/fhir/json.ts'
import { validate } from '../../lambdas/fhir/validate/validate.ts'
import { PACKAGE } from '../../search-mappings/generate/hl7.ts'
import { validatedInPieces } from '../fixtures/validation/in-pieces.ts'

const BASE = 'base is required'
const EMPTY_NARRATIVE = 'The narrative has no content (txt-2)'
const NO_BASE_DEFINITION = 'If the structure is not abstract, then there SHALL be a baseDefinition (sdf-4)'

/** Real faults of the examples, each with its first reason. */
const REFUSED: Readonly<Record<string, string>> = {
  'ActivityDefinition-blood-tubes-supply': EMPTY_NARRATIVE,
  'ActivityDefinition-heart-valve-replacement': EMPTY_NARRATIVE,
  'Bundle-dataelements':
    'FullUrl must be unique in a bundle, or else entries with the same fullUrl must have different meta.versionId (except in history bundles) (bdl-7)',
  'Bundle-v2-valuesets': 'A code has no white space at its ends, and single spaces within',
  'CodeSystem-v2-0550': 'A code has no white space at its ends, and single spaces within',
  'DeviceMetric-example': 'A reference to DeviceDefinition is not allowed here, only to Device',
  'DeviceUseStatement-example':
    'A reference to Procedure is not allowed here, only to Condition, DiagnosticReport, DocumentReference, Media, Observation',
  'EventDefinition-example': EMPTY_NARRATIVE,
  'ImplementationGuide-fhir': 'name is required',
  'MedicationRequest-medrx0301': 'A reference to Practitioner is not allowed here, only to Organization',
  'Observation-clinical-gender':
    'A reference to Encounter is not allowed here, only to CareTeam, Organization, Patient, Practitioner, PractitionerRole, RelatedPerson',
  'Questionnaire-qs1': 'linkId is required',
  'Questionnaire-zika-virus-exposure-assessment': EMPTY_NARRATIVE,
  'SearchParameter-codesystem-extensions-CodeSystem-author': BASE,
  'SearchParameter-codesystem-extensions-CodeSystem-effective': BASE,
  'SearchParameter-codesystem-extensions-CodeSystem-end': BASE,
  'SearchParameter-codesystem-extensions-CodeSystem-keyword': BASE,
  'SearchParameter-codesystem-extensions-CodeSystem-workflow': BASE,
  'SearchParameter-questionnaireresponse-extensions-QuestionnaireResponse-item-subject': 'An id has 1 to 64 letters, digits, - and .',
  'SearchParameter-valueset-extensions-ValueSet-author': BASE,
  'SearchParameter-valueset-extensions-ValueSet-effective': BASE,
  'SearchParameter-valueset-extensions-ValueSet-end': BASE,
  'SearchParameter-valueset-extensions-ValueSet-keyword': BASE,
  'SearchParameter-valueset-extensions-ValueSet-workflow': BASE,
  'StructureDefinition-Definition': NO_BASE_DEFINITION,
  'StructureDefinition-Event': NO_BASE_DEFINITION,
  'StructureDefinition-FiveWs': NO_BASE_DEFINITION,
  'StructureDefinition-Request': NO_BASE_DEFINITION,
  'ig-r4': 'name is required',
}

const FULL = process.env.FHIR_TEST_FULL === '1'

/** Definitions are many and alike: a twentieth of them, all other examples, and everything with FHIR_TEST_FULL=1. */
function chosen(name: string, index: number): boolean {
  return FULL || name in REFUSED || !/^(SearchParameter|ValueSet|CodeSystem|StructureDefinition|Bundle)-/.test(name) || index % 20 === 0
}

describe('the official examples', () => {
  const names = readdirSync(PACKAGE)
    .filter((file) => file.endsWith('.json') && !['package.json', '.index.json'].includes(file))
    .map((file) => file.slice(0, -'.json'.length))
    .sort()

  it('are valid, but for the faults listed here', () => {
    const refused = names.filter(chosen).flatMap((name) => {
      const resource = parseJson(readFileSync(join(PACKAGE, `${name}.json`), 'utf8'))
      const found = validate(resource)
      expect(validatedInPieces(resource)).toEqual(found)
      const [first] = found
      return first === undefined ? [] : [[name, first.text] as const]
    })
    expect(Object.fromEntries(refused)).toEqual(REFUSED)
  })

  it('are 5,306', () => {
    expect(names).toHaveLength(5306)
  })
})
