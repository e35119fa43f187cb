/** $validate: the issues of a resource, and whether a write would be accepted. */
import { operatingSteps } from '../../http/pipelines/operating.ts'
import { NO_OP_WRITER } from '../../interactions/operations/dry-run.ts'
import { validate } from '../../interactions/operations/validate.ts'
import { fullValidator } from '../../interactions/validation/full-validation.ts'
import { httpHandler, stepParts } from '../../runtime/aws/http-handler.ts'
import { config, definitions, searchContexts } from '../../runtime/aws/ports.ts'
import { portsWithoutWriter } from '../../runtime/aws/search-index.ts'

const ports = portsWithoutWriter()

export const handler = httpHandler<'validate'>({
  interactions: { validate: validate({ ...ports, checker: NO_OP_WRITER, validated: fullValidator({ ...ports, ...definitions(0) }) }) },
  steps: operatingSteps({ ...stepParts(), maxBody: config().maxBodyBytes }),
  reading: searchContexts(),
})
