// Renders the fixtures with MiniJinja itself: {cases, variables} in, the texts out, null where it refuses.
const { Environment } = require("minijinja-js");

const { cases, variables } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const texts = cases.map(({ template }) => {
  const environment = new Environment();
  environment.enablePyCompat();
  environment.undefinedBehavior = "strict";
  try {
    return environment.renderStr(template, variables);
  } catch {
    return null;
  }
});
process.stdout.write(JSON.stringify(texts));
