/** A DynamoDB emulator from npm, a process of its own per test file. https://www.npmjs.com/package/@dynoxide/linux-x64 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { CreateTableCommand, DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { TABLE } from '../../lambdas/adapters/dynamodb/table.ts'

const BINARY = 'node_modules/@dynoxide/linux-x64/dynoxide'

export type DynamoEngine = { readonly client: DynamoDBDocumentClient; readonly newTable: () => Promise<string>; readonly stop: () => void }

/** The engine of DYNAMODB_ENDPOINT where it is set, else an own one; undefined where there is none for this machine. */
export async function startDynamo(): Promise<DynamoEngine | undefined> {
  const given = process.env.DYNAMODB_ENDPOINT
  if (given === undefined && !existsSync(BINARY)) return undefined
  const port = await freePort()
  const engine: ChildProcess | undefined =
    given === undefined ? spawn(BINARY, ['serve', '--host', '127.0.0.1', '--port', String(port)], { stdio: 'ignore' }) : undefined
  const base = new DynamoDBClient({
    endpoint: given ?? `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
  })
  for (let tries = 0; ; tries++) {
    if (
      await base.send(new ListTablesCommand({})).then(
        () => true,
        () => false,
      )
    )
      break
    if (tries > 200) throw new Error('the DynamoDB engine does not answer')
    await wait(25)
  }
  return {
    client: DynamoDBDocumentClient.from(base, { marshallOptions: { removeUndefinedValues: true } }),
    async newTable() {
      const TableName = `fhir-${crypto.randomUUID()}`
      await base.send(new CreateTableCommand({ TableName, ...TABLE }))
      return TableName
    },
    stop() {
      base.destroy()
      engine?.kill()
    },
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
