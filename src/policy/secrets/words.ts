/** The words that announce a secret: in programs, settings and sentences, in several languages. */

/** Names of passwords. Short ones are matched as whole parts of a name only. */
export const PASSWORD_WORDS: readonly string[] = [
  "password",
  "passwd",
  "passwrd",
  "passphrase",
  "pass phrase",
  "passcode",
  "passwort",
  "kennwort",
  "pass",
  "pwd",
  "passw",
  "pw",
  "contraseña",
  "clave de acceso",
  "senha",
  "palavra passe",
  "mot de passe",
  "parola d'ordine",
  "hasło",
  "wachtwoord",
  "lösenord",
  "adgangskode",
  "passord",
  "salasana",
  "heslo",
  "jelszó",
  "şifre",
  "parolă",
  "пароль",
  "пароля",
  "密码",
  "密碼",
  "口令",
  "パスワード",
  "비밀번호",
  "암호",
  "סיסמה",
  "סיסמא",
  "كلمة المرور",
  "كلمة السر",
  "รหัสผ่าน",
  "mật khẩu",
  "kata sandi",
  "κωδικός πρόσβασης",
  "парола",
  "login pass",
  "userpass",
  "dbpass",
  "db pass",
  "rootpass",
  "sshpass",
  "keypass",
  "storepass",
  "requirepass",
  "bindpw",
  "dbpw",
  "pgpassword",
  "mysql pwd",
];

/** Names of keys, tokens and other secrets. */
export const KEY_WORDS: readonly string[] = [
  "api key",
  "apikey",
  "api token",
  "api secret",
  "app key",
  "app secret",
  "app token",
  "application key",
  "application secret",
  "access key",
  "access token",
  "access secret",
  "secret key",
  "secret access key",
  "secret",
  "client secret",
  "client token",
  "consumer key",
  "consumer secret",
  "auth key",
  "auth token",
  "auth secret",
  "authtoken",
  "authentication key",
  "authorization token",
  "bearer token",
  "refresh token",
  "session token",
  "session secret",
  "session key",
  "oauth token",
  "oauth secret",
  "id token",
  "private key",
  "private token",
  "privkey",
  "encryption key",
  "encrypt key",
  "decryption key",
  "signing key",
  "signing secret",
  "signature key",
  "master key",
  "account key",
  "storage key",
  "shared key",
  "shared access key",
  "service key",
  "service token",
  "deploy key",
  "deploy token",
  "webhook secret",
  "hook token",
  "bot token",
  "nkey",
  "user token",
  "jwt secret",
  "jwt key",
  "cookie secret",
  "hmac key",
  "hmac secret",
  "license key",
  "licence key",
  "personal access token",
  "token",
  "credential",
  "credentials",
  "creds",
  "pat",
  "seed",
  "mnemonic",
  "securestring",
  "provision device key",
  "provision device secret",
  "insert key",
  "ingest key",
  "admin key",
  "root key",
  "write key",
  "read key",
  "server key",
  "publish key",
  "subscribe key",
  "tsig key",
  "tsig secret",
  "secretkey",
  "accesskey",
  "authkey",
  "passkey",
  "security token",
  "security key",
  "reporter id",
  "rest key",
  "api pass",
  "sas token",
  "x api key",
  "x auth token",
  "subscription key",
  "zugangsschlüssel",
  "api schlüssel",
  "geheimnis",
  "clave secreta",
  "clave api",
  "clave privada",
  "chave secreta",
  "chave de api",
  "clé secrète",
  "clé api",
  "clé privée",
  "chiave segreta",
  "chiave api",
  "klucz api",
  "sleutel",
  "ключ api",
  "api ключ",
  "секретный ключ",
  "токен",
  "密钥",
  "密鑰",
  "令牌",
  "api キー",
  "シークレット",
  "トークン",
  "시크릿",
  "토큰",
  "secretaccesskey",
  "clientsecret",
  "accesstoken",
  "privatekey",
  "accountkey",
  "encryptionkey",
  "masterkey",
  "signingkey",
];

/** Words of PASSWORD_WORDS and KEY_WORDS that are only meant when they stand alone in a name. */
export const WHOLE_PART_WORDS: ReadonlySet<string> = new Set([
  "pass",
  "pwd",
  "passw",
  "pw",
  "pat",
  "seed",
  "creds",
  "token",
  "secret",
  "credential",
  "sleutel",
]);

/**
 * Services whose keys have no telling form: next to the name and a word such as key or token, a random
 * string is their key.
 */
export const SERVICES: readonly string[] = `
  adafruit adobe airbrake airtable aiven alchemy algolia alibaba aliyun anypoint apideck apifonica apify apilayer apimetrics apitemplate
  appfollow appointedd appoptics appsynergy artifactory asana assemblyai atera atlassian audd auth0 autoklose autopilot avaza aviationstack axonaut
  ayrshare azure bannerbear baremetrics beamer beebole besnappy besttime betterstack bitbar bitbucket bitcoinaverage bitfinex bitly bitmex bittrex
  blazemeter blitapp blocknative blogger blynk bombbomb boostnote borgbase box brandfetch braintree branchio browserstack browshot bscscan buddyns budibase bugherd bugsnag
  buildkite bulbul buttercms bybit caflou calendarific calendly calorieninja campayn canny capsulecrm carboninterface cashboard censys centralstationcrm cexio chargebee
  chartmogul chatbot chatfuel checio checklyhq checkvist cicero circleci clarifai clearbit clickhouse clickup clicksend cliengo clinchpad clockify closecrm cloudconvert
  cloudelements cloudflare cloudimage cloudinary cloudmersive cloudplan cloudsight cloudsmith cloverly clustdoc coda codacy codecov codeclimate
  codemagic codequiry coinapi coinbase coinlayer coinlib coinmarketcap collect2 commercejs commodities confluence confluent contentful contentstack
  convertapi convertkit conversiontools countrylayer courier coveralls craftmypdf crowdin crowdstrike cryptocompare currencycloud currencyfreaks currencylayer
  currencyscoop currentsapi customerio d7network dailyco dandelion dareboost databox databricks datadog datagov deadmanssnitch debounce deepai deepgram deepl delighted
  deputy detectify detectlanguage dfuse diffbot diggernaut digitalocean discord disqus ditto dnscheck dnsimple docparser docusign documo doppler dotmailer dovico drone droneci dronahq dropbox
  duply dwolla dynalist dynatrace dyspatch eagleeyenetworks easypost ecostruxureit edamam edenai eightxeight elastic elasticemail elevenlabs enablex enigma envoy eraser
  etherscan ethplorer etsy eventbrite everhour exchangerate exchangerates extractorapi facebook fastforex fastly fastspring feedier fetchrss figma fileio
  finage financialmodelingprep findl finicity finnhub fixer flatio fleetbase flexport flickr flightapi flightlabs flightstats flowdash flowdock flutterwave fmfw formbucket formcraft formio
  formsite foursquare frameio freshbooks freshdesk freshworks fulcrum fullstory fusebill fxmarket geckoboard gemini gengo geoapify geocode geocodify geocodio geoipifi getaddress getemail getgeoapi getgist
  getresponse getsandbox gitalk github gitlab gitter glassnode gocanvas gocardless goodday google graphcms graphhopper grafana groovehq gtmetrix guardian gumroad guru gyazo happi happyscribe harvest hasura heap hellosign
  helpcrunch helpscout hereapi heroku hetzner hive hiveage holidayapi holistic honeybadger honeycomb host html2pdf hubspot huggingface humanity hunter hybiscus hypertrack ibm iconfinder
  iexapis iexcloud imagekit imagga imgur impala infobip infura insightly instabot instagram instamojo integromat intercom interseller intra42 intrinio invoiceocean ip2location ipapi ipgeolocation ipify ipinfo ipinfodb ipquality
  ipstack jenkins jfrog jira jotform jumpcloud jupiterone juro kafka kanban kanbantool karmacrm keenio kickbox klaviyo klipfolio knapsackpro kontent kraken kucoin
  kylas languagelayer larksuite launchdarkly leadfeeder lemlist lemonsqueezy lendflow lessannoyingcrm lexigram line linear linenotify linkedin linkpreview liveagent livestorm
  loadmill lob locationiq loggly loginradius logzio lokalise looker loyverse lunchmoney macaddress madkudu magento magnetic mailboxlayer mailchimp mailerlite mailgun mailjet mailmodo mailsac
  mandrill mapbox mapquest marketstack mattermost mavenlink maxmind meaningcloud mediastack meistertask meraki mesibo messagebird metaapi metabase metrilo microsoft midise mindmeister miro mite mixmax mixpanel
  mockaroo moderation monday mongodb monkeylearn moonclerk moonclock moosend moralis mrticktock myexperiment myfreshworks myintervals nasdaq nethunt netlify neutrinoapi newrelic newsapi newscatcher nexmo
  nftport ngrok nicereply nightfall nimble nitro noticeable notion nozbe npm nugget nuget numverify nutritionix nvidia nylas nytimes oanda octopus okta omnisend onedesk onelogin onepagecrm onesignal onfleet oopspam
  openai opencagedata opendns openuv openweather opsgenie optimizely oracle overloop ovh owlbot packagecloud pagarme pagerduty pandadoc pandascore paperform paralleldots parsehub parsers parseur partnerstack passbase pastebin
  paydirtapp payeezy paymoapp paymongo paypal paystack pdflayer pdfshift peopledatalabs pepipost percy pinata pinecone pipedream pipedrive pivotaltracker pixabay plaid planetscale planviewleankit planyo plivo podio
  pollsapi poloniex polygon positionstack postageapp postbacks posthog postman postmark powrbot privacy privateai prodpad prospectcrm protocolsio proxycrawl pubnub pulumi purestake pushbullet pusher pushover
  qase qualaroo qualtrics qubole quickmetrics rabbitmq rapidapi raven rawg razorpay reachmail readme reallysimplesystems rebrandly recaptcha refiner rentman repairshopr replicate replyio requestfinance restpack rev revampcrm
  rechargepayments ringcentral ritekit roaring rocketchat rocketreach rockset rollbar route4me rownd runrunit runscope salesblink salescookie salesflare salesforce salesmate satismeter saucelabs scaleway scalingo scrapeowl scraperapi
  scraperbox scrapersite scrapestack scrapfly scrapingant scrapingbee screenshotapi screenshotlayer scrutinizer securitytrails segment selectpdf semaphore sendbird sendgrid sendinblue sentry
  serphouse serpstack sheety sherpadesk shipday shippo shodan shopify shortcut shotstack shutterstock sidekiq signable signalwire signaturit signupgenius sigopt simfin simplesat simplynoted simvoly sinch sirv siteleaf
  skrapp skybiometry slack slackwebhook smartsheet smartystreets smooch snipcart snowflake snyk softlayer solarwinds sonarcloud sonarqube sonar sourcegraph sparkpost speechtext splunk spoonacular sportradar sportsmonk spotify square squarespace squareup sslmate statuscake
  statuspage statuspal stitchdata stockdata storecove stormboard stormglass storyblok storychief strava streak stripe stripo stytch sugester sumo sumologic supabase supernotes surveyanyplace surveybot surveysparrow survicate swell
  swiftype synack tailscale tallyfy tatum tatumio taxjar teamgate teamwork technicalanalysisapi tefter telegram teletype telnyx tencent terraform text2data textmagic theoddsapi thinkific thingsboard thousandeyes ticketmaster tickettailor
  tiingo timecamp timezoneapi tineswebhook tmetric todoist toggl togglplan tokeet tomorrowio tomtom tradier transferwise travelpayouts travis travisci trello tru truenas twelvedata twilio twist twitch twitter
  tyntec typeform typetalk ubidots uclassify unifyid unplugg unsplash upcdatabase uplead uploadcare uptimerobot upwave urlscan userflow userstack vagrant vatlayer vault vbout vercel verifier verimail veriphone versioneye viewneo virustotal
  visualcrossing voiceflow voicegain voodoosms vouchery vpnapi vultr vyte walkscore wandb weatherbit weatherstack web3storage webex webflow webscraper webscraping weightsandbiases wepay whoxy
  wistia wit wiz worksnaps workstack worldcoinindex worldweather wrike xai yandex yelp youneedabudget yousign youtube zapier zendesk zenkit zenrows zenscrape zenserp zeplin zerobounce zerotier zipapi zipbooks zipcodeapi
  zipcodebase zipkin ccloud cpdev gcp ipifi netcore groq anthropic django stackhawk dependencytrack unplu web3 cohere authress aws amazon pypi rubygems wireguard anyscale deepseek mistral replit huggingfacehub langchain langsmith vonage bandwidth sinch twillio auth0 workos clerk stytch descope float close apollo column daily flat groove humanity karma less maps front prospect protocols owm pyowm react streak kite ably zoho zonka zonkafeedback zulip lightspeed openstack cisco akamai cloudant jfrog godaddy namecheap gandi inwx namesilo dnspod luadns porkbun hover easydns dreamhost dyn netcup hostinger ionos exoscale leaseweb
`
  .trim()
  .split(/\s+/);
