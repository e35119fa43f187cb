/** FHIR history of a resource, a type and the whole system. */
import { readingSteps } from '../../http/pipelines/reading.ts'
import { history } from '../../interactions/rest/history.ts'
import { httpHandler, stepParts } from '../../runtime/aws/http-handler.ts'
import { clock, config, resources, seal } from '../../runtime/aws/ports.ts'

const histories = history({ resources: resources(), clock: clock(), seal: seal(), choices: config() })

export const handler = httpHandler<'history'>({
  interactions: { 'history-instance': histories, 'history-type': histories, 'history-system': histories },
  steps: readingSteps(stepParts()),
  seal: seal(),
})
