/** Runs once in every deployment, before anybody is served by it. */
import { migrate } from '../../runtime/aws/index-workers.ts'
import { customResource } from '../../runtime/aws/custom-resource.ts'

export const handler = customResource(migrate)
