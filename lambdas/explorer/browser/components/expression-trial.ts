/** Form that evaluates a FHIRPath expression on a resource, with `$apply-fhirpath`. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { type Answer, ask, noted, read } from '../http.ts'
import { isTree, type Tree, textOf, treesOf } from '../json.ts'
import { jsonText } from './json-difference.ts'
import { Problem } from './problem.ts'
import { Table } from './table.ts'
import { useTask } from './task.ts'

/** `add`: receives the answers of the form. */
export function ExpressionTrial({ add }: { readonly add: (answer: Answer) => void }) {
  const [expression, setExpression] = useState('')
  const [resource, setResource] = useState('')
  const [results, setResults] = useState<readonly Tree[] | undefined>(undefined)
  const { error, isBusy, run } = useTask()
  const evaluate = async () => {
    const request = {
      method: 'POST',
      path: '/$apply-fhirpath',
      headers: { 'content-type': 'application/fhir+json' },
      body: parametersOf(expression, await resourceText(resource.trim(), add)),
    }
    const answer = await noted(ask(request), add)
    setResults(treesOf(isTree(answer.body) ? answer.body.parameter : undefined).filter(({ name }) => name === 'result'))
  }
  const submit = (event: Event) => {
    event.preventDefault()
    setResults(undefined)
    run(evaluate)
  }
  return h(
    'form',
    { class: 'fields', onSubmit: submit },
    h(
      'label',
      null,
      'FHIRPath expression',
      h('input', {
        class: 'wide',
        value: expression,
        required: true,
        spellcheck: false,
        placeholder: 'Patient.name.given',
        onInput: (event: Event) => setExpression((event.currentTarget as HTMLInputElement).value),
      }),
    ),
    h(
      'label',
      null,
      'Resource, as type and id or as JSON',
      h('textarea', {
        rows: 3,
        value: resource,
        required: true,
        spellcheck: false,
        placeholder: 'Patient/1',
        onInput: (event: Event) => setResource((event.currentTarget as HTMLTextAreaElement).value),
      }),
    ),
    h('p', { class: 'buttons' }, h('button', { type: 'submit', disabled: isBusy }, 'Evaluate')),
    error !== undefined && h(Problem, { error }),
    results !== undefined && h(Results, { results }),
  )
}

/** Returns the JSON of the resource. Reads it from the server if the text is its type and id. */
async function resourceText(text: string, add: (answer: Answer) => void): Promise<string> {
  if (text.startsWith('{')) return text
  return (await noted(read(`/${text.replace(/^\//, '')}`), add)).text
}

/** Returns the Parameters as text, so that the numbers of the resource keep their decimals. */
const parametersOf = (expression: string, resource: string): string =>
  `{"resourceType":"Parameters","parameter":[{"name":"fhirPath","valueString":${JSON.stringify(expression)}},` +
  `{"name":"resource","resource":${resource}}]}`

function Results({ results }: { readonly results: readonly Tree[] }) {
  if (results.length === 0) return h('p', { role: 'status' }, 'The expression finds nothing.')
  return h(Table, {
    name: 'Result of the expression',
    columns: ['Item', 'Type', 'Path', 'Value'],
    rows: results.map(({ part }, i) => {
      const parts = treesOf(part)
      const partOf = (name: string) => parts.find((each) => each.name === name) ?? {}
      return [String(i + 1), textOf(partOf('type').valueString) ?? '', textOf(partOf('path').valueString) ?? '', valueText(parts)]
    }),
  })
}

/** Returns the value, the resource or the JSON of an item. */
function valueText(parts: readonly Tree[]): string {
  const { name, ...value } = parts.find((each) => ['value', 'resource', 'json'].includes(String(each.name))) ?? {}
  const [first] = Object.values(value)
  return name === 'json' ? (textOf(first) ?? '') : first === undefined ? '' : jsonText(first)
}
