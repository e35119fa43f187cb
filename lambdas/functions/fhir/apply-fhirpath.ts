/** $apply-fhirpath: what an expression finds in a resource that is sent with it. */
import { operatingSteps } from '../../http/pipelines/operating.ts'
import { applyFhirPath } from '../../interactions/operations/apply-fhirpath.ts'
import { validated } from '../../interactions/validation/full-validation.ts'
import { httpHandler, stepPartsWithoutPersons } from '../../runtime/aws/http-handler.ts'
import { clock, config, definitions, expressions, reading } from '../../runtime/aws/ports.ts'

const parts = { expressions: expressions(), clock: clock(), ...definitions(0) }

export const handler = httpHandler({
  interactions: { 'apply-fhirpath': applyFhirPath({ ...parts, validated: validated(parts) }) },
  steps: operatingSteps({ ...stepPartsWithoutPersons(), maxBody: config().maxBodyBytes }),
  reading: reading(),
})
