/** $validate: what is wrong with a resource, and whether it could be written. */
import { operatingSteps } from '../../http/pipelines/operating.ts'
import { NO_WRITER } from '../../interactions/operations/dry-run.ts'
import { validate } from '../../interactions/operations/validate.ts'
import { validated } from '../../interactions/validation/full-validation.ts'
import { httpHandler, stepParts } from '../../runtime/aws/http-handler.ts'
import { config, definitions, reading } from '../../runtime/aws/ports.ts'
import { checkPorts } from '../../runtime/aws/search-index.ts'

const ports = checkPorts()

export const handler = httpHandler({
  interactions: { validate: validate({ ...ports, checker: NO_WRITER, validated: validated({ ...ports, ...definitions(0) }) }) },
  steps: operatingSteps({ ...stepParts(), maxBody: config().maxBodyBytes }),
  reading: reading(),
})
