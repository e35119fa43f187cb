/** Throws RangeError if the name is not valid, as `Workflow` promises. */
export function checkWorkflowName(name: string): void {
  if (!/^[A-Za-z0-9_-]{1,80}$/.test(name)) throw new RangeError('the name of a workflow has 1 to 80 letters, digits, _ and -')
}
