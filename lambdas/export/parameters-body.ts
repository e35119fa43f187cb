/** Parameters of a kick-off by POST. Specification 2.4, 4.5; https://hl7.org/fhir/uv/bulkdata/STU2/OperationDefinition-export.html */
import type { Resource } from '../fhir/resource.ts'
import { MOST_PARAMETERS, type Pairs } from '../search/query/parameter-pairs.ts'
import { INSTANT, pairsPosted, TEXT } from '../search/query/posted-parameters.ts'
import { MOST_PATIENTS } from './export-request.ts'

/** As those of a URL. FhirError 400 that names the entry; a parameter that is none of an export's is left to who reads them. */
export const postedPairs = (body: Resource): Pairs =>
  pairsPosted(body, {
    to: 'an export',
    // Each patient is one.
    most: MOST_PARAMETERS + MOST_PATIENTS,
    kinds: new Map([
      ['_outputFormat', TEXT],
      ['_type', TEXT],
      ['_elements', TEXT],
      ['_typeFilter', TEXT],
      ['_since', INSTANT],
      ['_until', INSTANT],
      ['patient', ['valueReference', 'valueString']],
    ]),
  })
