/** Runs once in every deployment, before anybody is served by it. */
import { customResource } from '../../runtime/aws/custom-resource.ts'
import { migrate } from '../../runtime/aws/migration.ts'

export const handler = customResource(migrate)
