/** Prepares tables that DynamoDB restored, before a deployment lets them count, and tells their stream to who follows it. */
import { customResource } from '../../runtime/aws/custom-resource.ts'
import { adoptTables } from '../../runtime/aws/restored-tables.ts'

export const handler = customResource(adoptTables)
