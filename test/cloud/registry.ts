/** Who is registered at a deployment: its stores, as an operator's commands have them, and the client the tests are. */
import { documentClient } from '../../lambdas/adapters/dynamodb/client.ts'
import { DynamoDbGrants } from '../../lambdas/adapters/dynamodb/rows/grants.ts'
import { DynamoDbClients, DynamoDbUsers } from '../../lambdas/adapters/dynamodb/rows/registered.ts'
import { TableClient } from '../../lambdas/adapters/dynamodb/table-client.ts'
import { type ClientRegistration, toClient } from '../../lambdas/auth/clients/registration.ts'
import { createRandomSecret, fingerprintOf } from '../../lambdas/auth/random-secret.ts'
import type { Client } from '../../lambdas/ports/rows/clients.ts'
import type { Credentials } from '../fixtures/token-provider.ts'
import type { Deployment } from './deploy.ts'

/** `change` adds to its clients and users. */
export type Registry = {
  readonly clients: DynamoDbClients
  readonly users: DynamoDbUsers
  readonly grants: DynamoDbGrants
  readonly close: () => void
}

export function registryOf(awsEndpoint: string, { outputs }: Deployment): Registry {
  const table = Object.values(outputs).find(({ StateTableName }) => StateTableName !== undefined)!.StateTableName!
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  const client = documentClient({ region: 'us-east-1', endpoint: awsEndpoint, credentials })
  const dynamo = new TableClient(client, table, { attempts: 8, patience: 10_000 })
  return {
    clients: new DynamoDbClients(dynamo),
    users: new DynamoDbUsers(dynamo),
    grants: new DynamoDbGrants(dynamo, Date.now),
    close: () => client.destroy(),
  }
}

type RegistrationInput = Pick<ClientRegistration, 'id' | 'scopes'> & Partial<ClientRegistration>

/** With a secret, unless `input` says otherwise. */
export async function register({ clients }: Pick<Registry, 'clients'>, input: RegistrationInput): Promise<Credentials> {
  const secret = createRandomSecret()
  const usual = { name: input.id, redirectUris: [], tenants: ['*'], mayIntrospect: false }
  const authentication: Client['authentication'] = { kind: 'secret', hashes: [fingerprintOf(secret)] }
  const client = toClient({ authentication, ...usual, ...input }, Date.now())
  await clients.change(client.id, () => client)
  return { id: client.id, secret }
}

/** Who may do everything. */
export async function registerAdministrator(awsEndpoint: string, deployment: Deployment): Promise<Credentials> {
  const registry = registryOf(awsEndpoint, deployment)
  try {
    const scopes = ['system/*.cruds', 'system/admin']
    return { ...(await register(registry, { id: 'tests', scopes })), scope: scopes.join(' ') }
  } finally {
    registry.close()
  }
}
