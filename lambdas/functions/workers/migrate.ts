/** Prepares shared state. Every deployment runs it once, before its functions answer requests. */
import { customResource } from '../../runtime/aws/custom-resource.ts'
import { migrate } from '../../runtime/aws/migration.ts'

export const handler = customResource(migrate)
