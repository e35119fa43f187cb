/** $apply-fhirpath: what an expression finds in a resource that is sent with it. */
import { operatingSteps } from '../http/pipelines/operating.ts'
import { applyFhirPath } from '../interactions/apply-fhirpath.ts'
import { validated } from '../interactions/validated.ts'
import { clock, config, definitions, expressions, reading } from '../runtime/aws.ts'
import { httpHandler, stepParts } from '../runtime/aws-handler.ts'

const parts = { expressions: expressions(), clock: clock(), ...definitions(0) }

export const handler = httpHandler({
  interactions: { 'apply-fhirpath': applyFhirPath({ ...parts, validated: validated(parts) }) },
  steps: operatingSteps({ ...stepParts(), maxBody: config().maxBodyBytes }),
  reading: reading(),
})
