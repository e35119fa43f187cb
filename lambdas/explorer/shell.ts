/** HTML document of every address of the explorer. A browser shows it before the script runs and before any data arrives. */
import { html, toHtmlText } from '../auth/pages/html.ts'
import type { Assets } from './bundle.ts'

/** Facts about the server that the document passes to its script. */
export type ShellParts = {
  /** Base URL of the server, without a trailing slash. */
  readonly baseUrl: string
  /** Whether the server needs no tokens, so that the pages need no login. */
  readonly isOpen: boolean
  /** Version of the server, such as `0.1.0`. */
  readonly version: string
  readonly deployment: 'embedded' | 'AWS'
  /** Name of the claim with the tenants of an access token. Absent: the server has no tenancy. */
  readonly tenantClaim?: string
}

type Shell = Pick<Assets, 'script' | 'style'> & ShellParts

export function shellOf({ baseUrl, isOpen, version, deployment, tenantClaim = '', script, style }: Shell): string {
  const folder = `${new URL(baseUrl).pathname.replace(/\/$/, '')}/explorer`
  return toHtmlText(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="fhir-base" content="${baseUrl}">
<meta name="fhir-access" content="${isOpen ? 'open' : 'token'}">
<meta name="fhir-version" content="${version}">
<meta name="fhir-deployment" content="${deployment}">
<meta name="fhir-tenant-claim" content="${tenantClaim}">
<title>FHIR explorer</title>
<link rel="stylesheet" href="${folder}/assets/${style}">
<link rel="icon" href="data:,">
<script type="module" src="${folder}/assets/${script}"></script>
</head>
<body>
<div id="app"><header class="bar"><a class="brand" href="${folder}">FHIR explorer</a></header><main><p>Loading …</p></main></div>
<noscript><p>The explorer needs JavaScript.</p></noscript>
</body>
</html>
`)
}
