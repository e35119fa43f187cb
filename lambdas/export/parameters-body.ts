/** Parameters of a kick-off by POST. Specification 2.4, 4.5; https://hl7.org/fhir/uv/bulkdata/STU2/OperationDefinition-export.html */
import type { Resource } from '../fhir/resource.ts'
import { MAX_SEARCH_PARAMETERS, type ParameterPairs } from '../search/query/parameter-pairs.ts'
import { INSTANT_VALUE_NAMES, parsePostedParameters, TEXT_VALUE_NAMES } from '../search/query/posted-parameters.ts'
import { MAX_NAMED_PATIENTS } from './export-request.ts'

/** As those of a URL. FhirError 400 that names the entry; a parameter that is none of an export's is left to who reads them. */
export const parseParametersBody = (body: Resource): ParameterPairs =>
  parsePostedParameters(body, {
    to: 'an export',
    // Each patient is one.
    most: MAX_SEARCH_PARAMETERS + MAX_NAMED_PATIENTS,
    kinds: new Map([
      ['_outputFormat', TEXT_VALUE_NAMES],
      ['_type', TEXT_VALUE_NAMES],
      ['_elements', TEXT_VALUE_NAMES],
      ['_typeFilter', TEXT_VALUE_NAMES],
      ['_since', INSTANT_VALUE_NAMES],
      ['_until', INSTANT_VALUE_NAMES],
      ['patient', ['valueReference', 'valueString']],
    ]),
  })
