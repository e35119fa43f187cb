/**
 * Prepares tables that DynamoDB restored, before a deployment uses them. Returns the ARN of their stream, for the functions that follow it.
 */
import { customResource } from '../../runtime/aws/custom-resource.ts'
import { adoptTables } from '../../runtime/aws/restored-tables.ts'

export const handler = customResource(adoptTables)
