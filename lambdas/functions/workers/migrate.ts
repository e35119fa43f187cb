/** Runs once in every deployment, before anybody is served by it. */
import { migrate } from '../runtime/aws-indexing.ts'
import { customResource } from '../runtime/custom-resource.ts'

export const handler = customResource(migrate)
