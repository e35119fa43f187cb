/**
 * Handler of the function that serves the explorer. It runs without the steps of a pipeline: there is no caller to authenticate, and its
 * files hold no data, so there is nothing to audit.
 */
import { randomUUID } from 'node:crypto'
import type { Assets } from '../../explorer/bundle.ts'
import { explorer } from '../../explorer/explorer.ts'
import { type GatewayEvent, type GatewayResult, requestIdOf, requestOf, resultOf } from '../../http/gateway-event.ts'
import { normalizePath } from '../../http/route-table.ts'
import { explorerPartsOf } from '../explorer-parts.ts'
import { once } from '../once.ts'
import { config, deploymentSettings } from './ports.ts'

/** `assets`: returns the files of the explorer. A bundle contains its result (lib/bundle.ts). */
export function explorerHandler(assets: () => Promise<Assets>): (event: GatewayEvent) => Promise<GatewayResult> {
  const answer = explorer({ ...explorerPartsOf(config(), deploymentSettings().baseUrl, 'AWS'), assets: once(assets) })
  return async (event) => {
    const request = { method: event.httpMethod, path: normalizePath(requestOf(event).path), requestId: requestIdOf(event, randomUUID) }
    const { status, headers, body } = await answer(request)
    return resultOf(event, { status, headers, body: [new TextEncoder().encode(body)] })
  }
}
