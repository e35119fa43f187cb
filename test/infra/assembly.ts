/** The stacks as CloudFormation gets them, from the synthesizer that all test files of a run share (synthesizer.ts). */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Settings } from '../../lib/settings/settings.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects to be there
export type Tree = any

export type SynthesizedStacks = {
  readonly data: Tree
  readonly service: Tree
  readonly operation: Tree
  /** Whether the stack of data has termination protection. */
  readonly isProtected: boolean
}

export type SynthesisOutput = 'templates' | 'findings' | 'assembly'

type StageSettings<Name extends string> = Readonly<Record<Name, Partial<Settings>>>
type Results<Name extends string, Value> = Promise<Readonly<Record<Name, Value>>>

export const synthesizeStages = <Name extends string>(stages: StageSettings<Name>): Results<Name, SynthesizedStacks> =>
  resultsOf('templates', stages)

/** Findings of cdk-nag that no suppression accepts: rule and path of the construct. */
export const findingsOf = <Name extends string>(stages: StageSettings<Name>): Results<Name, readonly string[]> =>
  resultsOf('findings', stages)

/** Returns the folder of the assembly that `bin/app.ts` makes, with the bundled functions. It is shared: tests only read it. */
export async function assemblyOf(settings: Partial<Settings>): Promise<string> {
  const { folder } = await resultsOf<'folder', string>('assembly', { folder: settings })
  return folder
}

// `fetch` gives up after five minutes, which a busy machine may need.
async function resultsOf<Name extends string, Value>(work: SynthesisOutput, stages: StageSettings<Name>): Results<Name, Value> {
  const post = request({ host: '127.0.0.1', port: process.env.FHIR_TEST_SYNTHESIZER, path: `/${work}`, method: 'POST', agent: false })
  const [response] = (await once(post.end(JSON.stringify(stages)), 'response')) as [IncomingMessage]
  const body = await text(response)
  if (response.statusCode !== 200) throw new Error(`the stacks were not synthesized: ${body}`)
  return JSON.parse(body)
}

/** Returns properties by logical id. Throws RangeError if there are none, because any expectation of each of them would hold. */
export function resourcesOfType(template: Tree, type: string): Readonly<Record<string, Tree>> {
  const found = anyOfType(template, type)
  if (Object.keys(found).length === 0) throw new RangeError(`the template has no ${type}`)
  return found
}

export const anyOfType = (template: Tree, type: string): Readonly<Record<string, Tree>> =>
  Object.fromEntries(
    Object.entries<Tree>(template.Resources)
      .filter(([, { Type }]) => Type === type)
      .map(([id, { Properties }]) => [id, Properties]),
  )

/** Returns the value that an `Fn::GetStackOutput` of another stack reads, in terms of the template that outputs it. */
export function outputOf(stacks: SynthesizedStacks, reference: Tree): Tree {
  const { StackName, OutputName } = reference['Fn::GetStackOutput']
  return stacks[StackName as 'data' | 'service'].Outputs[OutputName].Value
}

/** Name → properties. */
export const functionsOf = (template: Tree): Readonly<Record<string, Tree>> =>
  Object.fromEntries(
    Object.values(anyOfType(template, 'AWS::Lambda::Function')).map((properties) => [
      properties.Handler.replace(/\.handler$/, ''),
      properties,
    ]),
  )
