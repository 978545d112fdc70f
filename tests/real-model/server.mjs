// An OpenAI-compatible server over one small model on the CPU. It does what such
// servers do and nothing cleverer: POST /v1/chat/completions, streamed or whole,
// whatever the model says. Tools are ignored, as many small servers ignore them.
//
//   node server.mjs MODEL.gguf PORT_FILE
//
// Writes the port it listens on into PORT_FILE when it is ready.
import {createServer} from "node:http";
import {renameSync, writeFileSync} from "node:fs";
import {getLlama, LlamaCompletion} from "node-llama-cpp";

const [modelPath, portFile] = process.argv.slice(2);
const llama = await getLlama({gpu: false, build: "never", logLevel: "error"});
const model = await llama.loadModel({modelPath});
const context = await model.createContext({contextSize: 2048, threads: 2});
const sequence = context.getSequence();
const completion = new LlamaCompletion({contextSequence: sequence});
let turn = Promise.resolve(); // one sequence: requests take turns

const text = (content) =>
    typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("");
const prompt = (messages) =>
    messages.map((m) => `${m.role}: ${text(m.content).slice(-800)}`).join("\n").slice(-2000) + "\nassistant:";

async function answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const id = `chatcmpl-${process.hrtime.bigint()}`;
    const head = {id, created: 0, model: body.model};
    const input = prompt(body.messages);
    let output = 0;
    const event = (delta, finish_reason = null) =>
        response.write(`data: ${JSON.stringify({...head, object: "chat.completion.chunk",
            choices: [{index: 0, delta, finish_reason}]})}\n\n`);
    if (body.stream) response.writeHead(200, {"content-type": "text/event-stream"});
    const words = await completion.generateCompletion(input, {
        maxTokens: 24,
        temperature: 0,
        customStopTriggers: ["\nuser:", "\nsystem:"],
        onTextChunk: (content) => {
            output += 1;
            if (body.stream) event({role: "assistant", content});
        }
    });
    const usage = {prompt_tokens: model.tokenize(input).length, completion_tokens: output};
    usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
    if (body.stream) {
        event({}, "stop");
        if (body.stream_options?.include_usage)
            response.write(`data: ${JSON.stringify({...head, object: "chat.completion.chunk", choices: [], usage})}\n\n`);
        response.end("data: [DONE]\n\n");
    } else {
        response.writeHead(200, {"content-type": "application/json"});
        response.end(JSON.stringify({...head, object: "chat.completion", usage,
            choices: [{index: 0, finish_reason: "stop", message: {role: "assistant", content: words}}]}));
    }
}

const server = createServer((request, response) => {
    if (request.method !== "POST" || !request.url.endsWith("/chat/completions")) {
        response.writeHead(404, {"content-type": "application/json"});
        response.end(JSON.stringify({error: {message: `no such route: ${request.url}`}}));
        return;
    }
    turn = turn.then(() => answer(request, response)).catch((error) => {
        if (!response.headersSent) response.writeHead(500, {"content-type": "application/json"});
        response.end(JSON.stringify({error: {message: String(error.message ?? error)}}));
    });
});
server.listen(0, "127.0.0.1", () => {
    writeFileSync(`${portFile}.new`, String(server.address().port));
    renameSync(`${portFile}.new`, portFile);
});
