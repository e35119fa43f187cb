/** A deployment for a test file, asked for at FHIR_FRESH_URL; without one, a line that says so. */
import { beforeAll, describe, it } from '@jest/globals'
import { clientOf, type TestClient } from '../api/server.ts'
import { tokenProviderOf } from '../fixtures/token-provider.ts'
import type { DeploymentDescription, DeploymentRequest } from './cloud.ts'

/** `client`: who may do everything there. */
export function runOnCloud(
  name: string,
  wish: DeploymentRequest,
  suite: (cloud: () => DeploymentDescription, client: TestClient) => void,
): void {
  if (process.env.FHIR_FRESH_URL === undefined) {
    const reason = 'there is no deployment; `npm run test:cloud` makes one'
    process.stderr.write(`${name} is not tested: ${reason}\n`)
    describe(name, () => {
      it.skip(`is not tested: ${reason}`, () => {})
    })
    return
  }
  describe(name, () => {
    let described: DeploymentDescription | undefined
    let token: (() => Promise<string>) | undefined
    beforeAll(async () => {
      described = await requestDeployment(wish)
      const { administrator } = described
      token = administrator === undefined ? undefined : tokenProviderOf(process.env.FHIR_BASE_URL!, administrator)
    })
    const client = clientOf(
      () => process.env.FHIR_BASE_URL!,
      () => token?.(),
    )
    suite(() => described!, client)
  })
}

export async function requestDeployment(wish: DeploymentRequest): Promise<DeploymentDescription> {
  const response = await fetch(process.env.FHIR_FRESH_URL!, { method: 'POST', body: JSON.stringify(wish) })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as DeploymentDescription
}
