/** $validate: what is wrong with a resource, and whether it could be written. */
import { operatingSteps } from '../http/pipelines/operating.ts'
import { NO_WRITER } from '../interactions/rehearsal.ts'
import { validate } from '../interactions/validate.ts'
import { validated } from '../interactions/validated.ts'
import { config, definitions, reading } from '../runtime/aws.ts'
import { httpHandler, stepParts } from '../runtime/aws-handler.ts'
import { checkPorts } from '../runtime/aws-index.ts'

const ports = checkPorts()

export const handler = httpHandler({
  interactions: { validate: validate({ ...ports, checker: NO_WRITER, validated: validated({ ...ports, ...definitions(0) }) }) },
  steps: operatingSteps({ ...stepParts(), maxBody: config().maxBodyBytes }),
  reading: reading(),
})
