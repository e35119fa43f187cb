/** Parameters of a kick-off by POST. Specification 2.4, 4.5; https://hl7.org/fhir/uv/bulkdata/STU2/OperationDefinition-export.html */
import type { Resource } from '../fhir/resource.ts'
import { MAX_SEARCH_PARAMETERS, type ParameterPairs } from '../search/query/parameter-pairs.ts'
import { INSTANT_VALUE_NAMES, parsePostedParameters, TEXT_VALUE_NAMES } from '../search/query/posted-parameters.ts'
import { MAX_NAMED_PATIENTS } from './export-request.ts'
import { EXPORT_TYPE_PARAMETER } from './partner-export.ts'

/**
 * Returns the parameters as name-value pairs, like those of a URL. Keeps unknown parameters; parseExportRequest handles them. Throws
 * FhirError 400 that names the wrong entry.
 */
export const parseParametersBody = (body: Resource): ParameterPairs =>
  parsePostedParameters(body, {
    to: 'an export',
    // Each patient is a parameter of its own, so the limit must include them.
    limit: MAX_SEARCH_PARAMETERS + MAX_NAMED_PATIENTS,
    kinds: new Map([
      ['_outputFormat', TEXT_VALUE_NAMES],
      ['_type', TEXT_VALUE_NAMES],
      ['_elements', TEXT_VALUE_NAMES],
      ['_typeFilter', TEXT_VALUE_NAMES],
      ['_since', INSTANT_VALUE_NAMES],
      ['_until', INSTANT_VALUE_NAMES],
      ['patient', ['valueReference', 'valueString']],
      [EXPORT_TYPE_PARAMETER, ['valueCanonical', 'valueUri', 'valueString', 'valueCode']],
    ]),
  })
