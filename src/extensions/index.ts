export { type AskUserOptions, askUser, type Question, type QuestionAnswer } from './ask-user.ts'
export { type Todo, type TodosOptions, type TodosState, todos } from './todos.ts'
