/**
 * A DynamoDB emulator, a process of its own per test file. dynamodb-emulator/package.json installs it.
 * https://www.npmjs.com/package/@dynoxide/linux-x64
 */
import { existsSync } from 'node:fs'
import { CreateTableCommand, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { documentClient } from '../../lambdas/adapters/dynamodb/client.ts'
import { TABLE_DEFINITION } from '../../lambdas/adapters/dynamodb/table-keys.ts'
import { launchEngine } from './engine.ts'

const BINARY = 'node_modules/@dynoxide/linux-x64/dynoxide'

export type DynamoEngine = {
  readonly endpoint: string
  readonly client: DynamoDBDocumentClient
  readonly newTable: () => Promise<string>
  readonly stop: () => Promise<void>
}

/** The engine of DYNAMODB_ENDPOINT where it is set, else an own one; undefined, and a line that says so, where there is none for this machine. */
export async function startDynamo(): Promise<DynamoEngine | undefined> {
  const endpoint = process.env.DYNAMODB_ENDPOINT
  if (endpoint !== undefined) return engineAt(endpoint, async () => {})
  if (existsSync(BINARY)) {
    const { port, stop } = await launchEngine((port) => ({
      command: BINARY,
      arguments: ['serve', '--host', '127.0.0.1', '--port', String(port)],
      health: `http://127.0.0.1:${port}/`,
    }))
    return engineAt(`http://127.0.0.1:${port}`, stop)
  }
  process.stderr.write('The DynamoDB store is not tested: there is no emulator for this machine, and DYNAMODB_ENDPOINT is not set\n')
  return undefined
}

function engineAt(endpoint: string, end: () => Promise<void>): DynamoEngine {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  const client = documentClient({ endpoint, region: 'us-east-1', credentials } satisfies DynamoDBClientConfig)
  return {
    endpoint,
    client,
    async newTable() {
      const TableName = `fhir-${crypto.randomUUID()}`
      await client.send(new CreateTableCommand({ TableName, ...TABLE_DEFINITION }) as never)
      return TableName
    },
    async stop() {
      client.destroy()
      await end()
    },
  }
}
