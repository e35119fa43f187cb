/** Run as a process of its own: synthesizes the stacks for the settings named, checks them with cdk-nag, and prints what came of it. See assembly.ts. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AwsSolutionsChecks, HIPAASecurityChecks } from 'cdk-nag'
import type { Settings } from '../../lib/settings.ts'
import { stacksOf, templatesOf } from './made.ts'

const wanted = JSON.parse(process.argv[2]!) as Readonly<Record<string, Partial<Settings>>>
const outdir = mkdtempSync(join(tmpdir(), 'fhir-infra-'))
try {
  const made = Object.entries(wanted).map(([name, settings]) => [name, synthesized(join(outdir, name), settings)])
  process.stdout.write(JSON.stringify(Object.fromEntries(made)))
} finally {
  rmSync(outdir, { recursive: true })
}

function synthesized(folder: string, given: Partial<Settings>) {
  const stacks = stacksOf(folder, given)
  const findings = [new AwsSolutionsChecks(stacks.app), new HIPAASecurityChecks(stacks.app)].flatMap((pack) =>
    [stacks.data, stacks.service].flatMap((stack) =>
      pack
        .validateScope(stack)
        .violations.flatMap(({ ruleName, violatingResources }) =>
          violatingResources.map(({ constructPath, resourceLogicalId }) => `${ruleName} ${constructPath ?? resourceLogicalId}`),
        ),
    ),
  )
  const isProtected = stacks.data.terminationProtection === true
  return { ...templatesOf(stacks), isProtected, findings: [...new Set(findings)] }
}
