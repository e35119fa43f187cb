/**
 * The roles of the deployed functions allow what the functions did while test/api ran on them, and nothing of what they never must do. What
 * they did was recorded by the run before (run.ts, `here`).
 */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { type FunctionName, functionsOfStage } from '../../lambdas/functions/functions.ts'
import { ARNS, allowed, type Template } from '../infra/iam.ts'
import type { Described } from './cloud.ts'
import { onCloud } from './deployed.ts'
import { type Need, needsOf, shapeOf } from './permissions.ts'
import type { Call } from './recorder.ts'

const file = process.env.FHIR_CLOUD_CALLS

const templateOf = ({ deployment }: Described): Template =>
  Object.values(deployment.templates).find(({ Resources }) =>
    Object.values(Resources as Template['Resources']).some(({ Type }) => Type === 'AWS::Lambda::Function'),
  )

onCloud('the permissions of functions', { here: true }, (cloud) => {
  const test = file === undefined ? it.skip : it
  if (file === undefined) process.stderr.write('Recorded calls are not checked: FHIR_CLOUD_CALLS is not set\n')

  test('allow every call they made', () => {
    const calls = JSON.parse(readFileSync(file!, 'utf8')) as readonly Call[]
    const template = templateOf(cloud())
    const needs = new Map(calls.flatMap(needsOf).map((need) => [shapeOf(need), need]))
    const denied = [...needs].filter(([, need]) => !allowed(template, need.functionName, need)).map(([shape]) => shape)
    const callers = new Set([...needs.values()].map(({ functionName }) => functionName))
    process.stdout.write(`${calls.length} calls of ${callers.size} functions, ${needs.size} different ones\n`)
    expect(denied).toEqual([])
    expect([...callers].sort()).toEqual(functionsOfStage('open').toSorted())
  })

  describe('deny', () => {
    const all = functionsOfStage('token')
    const others = (...those: readonly FunctionName[]): readonly FunctionName[] => all.filter((name) => !those.includes(name))
    const writers: readonly FunctionName[] = ['create', 'update', 'patch', 'delete', 'bundle', 'settle-transactions']
    const rows: readonly (readonly [what: string, functions: readonly FunctionName[], need: Omit<Need, 'functionName'>])[] = [
      ['writing resources', others(...writers), { action: 'dynamodb:PutItem', resource: ARNS.ResourceTable }],
      ['deleting a table', all, { action: 'dynamodb:DeleteTable', resource: ARNS.ResourceTable }],
      ['scanning a table', all, { action: 'dynamodb:Scan', resource: ARNS.ResourceTable }],
      ['deleting an index', others('rebuild-step'), { action: 'es:ESHttpDelete', resource: `${ARNS.SearchDomain}/fhir-patient-v1` }],
      ['deleting every index', all, { action: 'es:ESHttpDelete', resource: `${ARNS.SearchDomain}/_all` }],
      [
        'searching',
        others('search', 'authorize', ...writers),
        { action: 'es:ESHttpPost', resource: `${ARNS.SearchDomain}/fhir-patient/_search` },
      ],
      ['indexing', others('indexer', 'rebuild-step'), { action: 'es:ESHttpPost', resource: `${ARNS.SearchDomain}/_bulk` }],
      [
        'making the key of seals',
        others('migrate'),
        { action: 'dynamodb:PutItem', resource: ARNS.StateTable, context: { 'dynamodb:LeadingKeys': ['SEAL'] } },
      ],
      [
        'reading audit records',
        all,
        { action: 'dynamodb:GetItem', resource: ARNS.StateTable, context: { 'dynamodb:LeadingKeys': ['AUDIT#2026'] } },
      ],
      [
        'using the key itself',
        all,
        { action: 'kms:Decrypt', resource: ARNS.Key, context: { 'kms:ViaService': 'es.us-east-1.amazonaws.com' } },
      ],
      ['changing permissions', all, { action: 'iam:PutRolePolicy', resource: 'arn:aws:iam::000000000000:role/fhir-local/x' }],
    ]

    it.each(rows)('%s', (_, functions, need) => {
      const template = templateOf(cloud())
      expect(functions.filter((name) => allowed(template, name, need))).toEqual([])
    })
  })
})
