/** $apply-fhirpath: evaluates an expression on the resource in the request. */
import { operatingSteps } from '../../http/pipelines/operating.ts'
import { applyFhirPath } from '../../interactions/operations/apply-fhirpath.ts'
import { fullValidator } from '../../interactions/validation/full-validation.ts'
import { httpHandler, stepPartsWithoutPersons } from '../../runtime/aws/http-handler.ts'
import { clock, config, definitions, expressions, searchContexts } from '../../runtime/aws/ports.ts'

const parts = { expressions: expressions(), clock: clock(), ...definitions(0) }

export const handler = httpHandler<'apply-fhirpath'>({
  interactions: { 'apply-fhirpath': applyFhirPath({ ...parts, validated: fullValidator(parts) }) },
  steps: operatingSteps({ ...stepPartsWithoutPersons(), maxBody: config().maxBodyBytes }),
  reading: searchContexts(),
})
